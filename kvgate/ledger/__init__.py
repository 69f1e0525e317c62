"""The results database: typed models, migrations, and the only SQL."""

"""What people and programs read: tables, terminal, pages, messages in English and Chinese."""

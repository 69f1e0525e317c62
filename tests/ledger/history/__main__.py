"""Write the file of the newest schema. To be run before the next migration is written: code writes its own schema only."""

from __future__ import annotations

import hashlib
import tempfile
from pathlib import Path

from sqlalchemy import MetaData, select

from kvgate.codec import canonical
from kvgate.ledger import queries, schema
from kvgate.ledger.engine import Store
from kvgate.ledger.portable import FORMAT
from kvgate.ledger.repository import Ledger, now_utc
from kvgate.ledger.rows import SeenRow, Waived
from tests.ledger.sample import BAD, GOOD, OPEN, begin, complete, decision, rows


def main() -> None:
    revision = schema.REVISIONS[-1]
    with tempfile.TemporaryDirectory() as folder:
        store = Store.connect(f"sqlite:///{folder}/kvgate.db")
        schema.upgrade(store)
        ledger = Ledger(store)
        run, _ = complete(ledger, BAD)
        ledger.see(
            run, [SeenRow("node-01", "accelerators", ("A1", "A2")), SeenRow("fx100-a", "array disks", (), "down")]
        )
        ledger.waive(run, decision(), [Waived("G1.1.1", "node-01", "d" * 64, "2026-12-31")], "both parties accept it")
        left = begin(ledger, campaign="other")
        ledger.record(left, rows(GOOD, OPEN))
        ledger.interrupt(left, "stopped")
        complete(ledger, GOOD, GOOD, GOOD, GOOD)
        with store.reading("writing it down") as connection:
            tables = MetaData()
            tables.reflect(connection)
            head = queries.head(connection)
            lines = [
                canonical({"kvgate ledger": FORMAT, "schema": revision, "head": head, "code": "", "utc": now_utc()})
            ]
            for table in tables.sorted_tables:
                if table.name != "alembic_version":
                    lines.append(canonical({"table": table.name, "columns": [column.name for column in table.columns]}))
                    found = connection.execute(select(table).order_by(*table.primary_key.columns))
                    lines += [canonical(list(row)) for row in found]
    body = "".join(f"{line}\n" for line in lines).encode()
    end = canonical({"lines": len(lines), "sha256": hashlib.sha256(body).hexdigest()})
    Path(__file__).with_name(f"{revision}.jsonl").write_bytes(body + end.encode() + b"\n")


if __name__ == "__main__":
    main()

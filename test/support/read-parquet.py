"""Reads every Parquet object below a folder with DuckDB and with pyarrow, as people do who analyse an
archive.

Prints JSON: {"duckdb": rows, "pyarrow": rows}. A row is
[tenant, date, name, host, labels, timestamp in ms, bits of the value in hex].
"""

import json
import struct
import sys

import duckdb
import pyarrow
import pyarrow.dataset

folder = sys.argv[1]


def values(column):
    """Returns the 64 bits of each value of a column in hex. So a NaN keeps its payload."""
    bits = []
    for chunk in column.chunks:
        data = chunk.buffers()[1].to_pybytes()
        bits.extend(struct.unpack_from(f"<{len(chunk)}Q", data, 8 * chunk.offset))
    return [f"{value:016x}" for value in bits]


def rows(table):
    text = [table.column(name).cast(pyarrow.string()).to_pylist() for name in ("tenant", "date", "name", "host", "labels")]
    times = table.column("timestamp").cast(pyarrow.timestamp("ms", "UTC")).cast(pyarrow.int64()).to_pylist()
    return sorted(zip(*text, times, values(table.column("value"))))


connection = duckdb.connect()
connection.execute("SET TimeZone = 'UTC'")
by_duckdb = connection.sql(
    f"SELECT * FROM read_parquet('{folder}/**/*.parquet', hive_partitioning = true)"
).to_arrow_table()
by_pyarrow = pyarrow.dataset.dataset(folder, format="parquet", partitioning="hive").to_table()
print(json.dumps({"duckdb": rows(by_duckdb), "pyarrow": rows(by_pyarrow)}))

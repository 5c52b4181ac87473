"""Counts and sums a metric of the archive with each reader of Parquet, and tells the reader's version."""
import glob
import json
import os

files = sorted(glob.glob(os.environ["ARCHIVE"] + "/**/*.parquet", recursive=True))
where = "name = 'peer_up' AND timestamp IS NOT NULL"
sql = f"SELECT count(*), sum(value) FROM {{}} WHERE {where}"


def with_duckdb():
    import duckdb

    return duckdb.__version__, list(duckdb.sql(sql.format(f"read_parquet({files!r})")).fetchall()[0])


def with_pyarrow():
    import pyarrow
    import pyarrow.compute as compute
    import pyarrow.dataset as dataset

    table = dataset.dataset(files).to_table(filter=compute.field("name") == "peer_up")
    return pyarrow.__version__, [table.num_rows, compute.sum(table["value"]).as_py()]


def with_polars():
    import polars

    frame = polars.scan_parquet(files).filter(polars.col("name").cast(polars.String) == "peer_up").collect()
    return polars.__version__, [frame.height, frame["value"].sum()]


def with_chdb():
    import chdb

    parts = " UNION ALL ".join(f"SELECT * FROM file('{file}', Parquet)" for file in files)
    row = json.loads(str(chdb.query(sql.format(f"({parts})"), "JSONCompactEachRow")))
    return chdb.__version__, [int(row[0]), row[1]]


reader = os.environ["READER"]
version, found = globals()["with_" + reader]()
print(json.dumps({"version": str(version), "found": found}))

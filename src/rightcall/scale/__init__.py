"""Any number of rows: in columns, over local files, in large datasets, on Spark and Ray."""

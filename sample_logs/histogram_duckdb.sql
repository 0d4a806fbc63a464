-- Makes a traffic file from logs in DuckDB: duckdb < histogram_duckdb.sql
copy (
    select
        batch_size::bigint as batch,
        seq_len::bigint as seq,
        count(*) as count,
        time_bucket(interval '5 minutes', time) as bucket_start
    from read_parquet('prod.parquet')
    where batch_size > 0 and seq_len > 0
    group by all
) to 'traffic.parquet' (format parquet);

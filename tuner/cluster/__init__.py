"""The same job on Ray: ingestion's map step, and candidates built and measured on the nodes of a cluster."""

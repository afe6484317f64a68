"""S3: vector databases, one record per depth."""

-- How far each pipeline has been closed. Written by the scheduler.
CREATE TABLE base.load_watermarks (
    pipeline_name     VARCHAR PRIMARY KEY,
    closed_through    DATE NOT NULL,
    -- late data is still accepted for this many days after closing
    grace_days        SMALLINT NOT NULL DEFAULT 3
        CHECK (grace_days BETWEEN 0 AND 31),
    last_run_id       VARCHAR,
    last_run_started  TIMESTAMP,
    last_run_ended    TIMESTAMP,
    rows_written      BIGINT,
    is_frozen         BOOLEAN NOT NULL DEFAULT FALSE,
    owner_team        VARCHAR NOT NULL,
    alert_channel     VARCHAR,
    updated_at        TIMESTAMP NOT NULL
);

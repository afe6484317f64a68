-- Change data capture from the shop backend, one row per changed attribute.
-- Append only. Values are text whatever the type of the column was.
CREATE TABLE base.customer_changes (
    change_id      BIGINT PRIMARY KEY,
    customer_id    BIGINT NOT NULL,
    changed_at     TIMESTAMP NOT NULL,
    field_name     VARCHAR NOT NULL,
    old_value      VARCHAR,
    new_value      VARCHAR,
    changed_by     VARCHAR NOT NULL
        CHECK (changed_by IN ('customer', 'agent', 'import', 'system')),
    -- position in the source's binary log; two changes of one transaction
    -- carry the same changed_at, so this decides which came last
    log_position   BIGINT NOT NULL,
    captured_at    TIMESTAMP NOT NULL DEFAULT current_timestamp,
    batch_file     VARCHAR
);

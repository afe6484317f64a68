-- Life of a subscription as the billing service reports it.
CREATE TABLE base.subscription_events (
    event_id          BIGINT PRIMARY KEY,
    subscription_id   BIGINT NOT NULL,
    customer_id       BIGINT NOT NULL,
    plan_id           INTEGER NOT NULL,
    event_type        VARCHAR NOT NULL
        CHECK (event_type IN (
            'started', 'plan_changed', 'paused', 'resumed', 'cancelled', 'expired'
        )),
    quantity          SMALLINT NOT NULL DEFAULT 1,
    discount_percent  DECIMAL(5, 2) NOT NULL DEFAULT 0,
    effective_on      DATE NOT NULL,
    recorded_at       TIMESTAMP NOT NULL,
    cancel_reason     VARCHAR,
    initiated_by      VARCHAR NOT NULL DEFAULT 'customer'
);

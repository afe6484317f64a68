-- Click stream from the shop's tracker. Partitioned by event_at in production.
CREATE TABLE base.web_events (
    event_id        VARCHAR NOT NULL,
    visitor_id      VARCHAR NOT NULL,        -- first party cookie
    customer_id     BIGINT,                  -- only after login
    event_name      VARCHAR NOT NULL,
    page_path       VARCHAR,
    sku             VARCHAR,
    order_id        BIGINT,
    referrer_host   VARCHAR,
    utm_source      VARCHAR,
    utm_medium      VARCHAR,
    utm_campaign    VARCHAR,
    user_agent      VARCHAR,
    ip_country      VARCHAR(2),
    consent_given   BOOLEAN NOT NULL DEFAULT FALSE,
    event_at        TIMESTAMP NOT NULL,
    ingested_at     TIMESTAMP NOT NULL
);

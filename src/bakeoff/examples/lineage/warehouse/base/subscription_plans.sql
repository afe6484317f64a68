-- Tea and coffee boxes that can be subscribed to.
CREATE TABLE base.subscription_plans (
    plan_id                   INTEGER PRIMARY KEY,
    plan_name                 VARCHAR NOT NULL,
    box_sku                   VARCHAR NOT NULL,
    billing_interval_months   SMALLINT NOT NULL
        CHECK (billing_interval_months IN (1, 3, 6, 12)),
    price_eur                 DECIMAL(10, 2) NOT NULL,
    trial_days                SMALLINT NOT NULL DEFAULT 0,
    is_gift                   BOOLEAN NOT NULL DEFAULT FALSE,
    is_legacy                 BOOLEAN NOT NULL DEFAULT FALSE,
    successor_plan_id         INTEGER,
    offered_from              DATE NOT NULL,
    offered_until             DATE,
    CHECK (offered_until IS NULL OR offered_until > offered_from)
);

-- Order headers. Rows change until the parcel has left the building.
CREATE TABLE base.orders (
    order_id            BIGINT PRIMARY KEY,
    customer_id         BIGINT NOT NULL,
    ordered_at          TIMESTAMP NOT NULL,
    -- P placed, A paid, W in picking, S sent, D done, X cancelled, F fraud
    status_code         VARCHAR(1) NOT NULL,
    currency_code       VARCHAR(3) NOT NULL,
    shipping_charge     DECIMAL(10, 2) NOT NULL DEFAULT 0,
    voucher_code        VARCHAR,
    voucher_amount      DECIMAL(10, 2) NOT NULL DEFAULT 0,
    ship_country_code   VARCHAR(2) NOT NULL,
    ship_postcode       VARCHAR,
    sales_channel       VARCHAR NOT NULL
        CHECK (sales_channel IN ('web', 'app', 'marketplace', 'store', 'phone')),
    subscription_id     BIGINT,
    gift_message        VARCHAR,
    is_test             BOOLEAN NOT NULL DEFAULT FALSE,
    cancelled_at        TIMESTAMP,
    updated_at          TIMESTAMP NOT NULL
);

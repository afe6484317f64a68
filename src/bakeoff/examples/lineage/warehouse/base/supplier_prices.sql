-- Offers of suppliers. A new offer replaces the previous one of the same
-- supplier and article from its start date on; there is no end date.
CREATE TABLE base.supplier_prices (
    supplier_id              INTEGER NOT NULL,
    sku                      VARCHAR NOT NULL,
    valid_from               DATE NOT NULL,
    unit_cost                DECIMAL(12, 4) NOT NULL CHECK (unit_cost >= 0),
    currency_code            VARCHAR(3) NOT NULL,
    freight_per_unit         DECIMAL(12, 4) NOT NULL DEFAULT 0,
    customs_duty_rate        DECIMAL(5, 4) NOT NULL DEFAULT 0,
    minimum_order_quantity   INTEGER NOT NULL DEFAULT 1,
    pack_size                INTEGER NOT NULL DEFAULT 1,
    is_preferred             BOOLEAN NOT NULL DEFAULT FALSE,
    quoted_by                VARCHAR,
    entered_at               TIMESTAMP NOT NULL,
    PRIMARY KEY (supplier_id, sku, valid_from)
);

-- Positions of an order, prices in the currency of the order and with VAT.
CREATE TABLE base.order_lines (
    order_id        BIGINT NOT NULL,
    line_number     SMALLINT NOT NULL,
    sku             VARCHAR NOT NULL,
    quantity        INTEGER NOT NULL CHECK (quantity > 0),
    unit_price      DECIMAL(10, 2) NOT NULL,
    line_discount   DECIMAL(10, 2) NOT NULL DEFAULT 0,
    discount_reason VARCHAR,
    is_free_sample  BOOLEAN NOT NULL DEFAULT FALSE,
    bundle_sku      VARCHAR,             -- set on the parts of an exploded bundle
    engraving_text  VARCHAR,
    created_at      TIMESTAMP NOT NULL,
    PRIMARY KEY (order_id, line_number)
);

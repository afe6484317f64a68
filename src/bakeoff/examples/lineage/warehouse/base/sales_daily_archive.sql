-- Closed days, written once by the month-end job and never touched again:
-- finance has reported these figures.
CREATE TABLE base.sales_daily_archive (
    sales_date            DATE NOT NULL,
    ship_country_code     VARCHAR(2) NOT NULL,
    sales_channel         VARCHAR NOT NULL,
    order_count           INTEGER NOT NULL,
    unit_count            INTEGER NOT NULL,
    net_revenue_eur       DECIMAL(14, 2) NOT NULL,
    vat_eur               DECIMAL(14, 2) NOT NULL,
    shipping_revenue_eur  DECIMAL(14, 2) NOT NULL DEFAULT 0,
    closed_by             VARCHAR NOT NULL,
    archived_at           TIMESTAMP NOT NULL,
    PRIMARY KEY (sales_date, ship_country_code, sales_channel)
);

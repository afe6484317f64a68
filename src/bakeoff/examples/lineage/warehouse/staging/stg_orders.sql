CREATE VIEW staging.stg_orders AS
SELECT
    o.order_id,
    i.person_id,
    o.ordered_at,
    CAST(o.ordered_at AS DATE) AS order_date,
    CASE o.status_code
        WHEN 'P' THEN 'open'
        WHEN 'A' THEN 'open'
        WHEN 'W' THEN 'picking'
        WHEN 'S' THEN 'fulfilled'
        WHEN 'D' THEN 'fulfilled'
        WHEN 'X' THEN 'cancelled'
        WHEN 'F' THEN 'fraud'
        ELSE 'unknown'
    END AS order_status,
    o.status_code NOT IN ('X', 'F') AS is_valid_sale,
    upper(o.currency_code) AS currency_code,
    o.shipping_charge,
    o.voucher_amount,
    nullif(upper(trim(o.voucher_code)), '') AS voucher_code,
    upper(o.ship_country_code) AS ship_country_code,
    o.sales_channel,
    o.subscription_id,
    o.updated_at
FROM base.orders AS o
JOIN staging.stg_customer_identity AS i
    ON i.account_id = o.customer_id
WHERE NOT o.is_test
  -- load tests of 2021 were not flagged
  AND o.order_id NOT BETWEEN 900000000 AND 900099999;

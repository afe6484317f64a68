-- Grain: day, country, channel.
CREATE TABLE marts.fct_sales_daily AS
WITH frontier AS (
    SELECT closed_through, closed_through - CAST(grace_days AS INTEGER) AS reopen_after
    FROM base.load_watermarks
    WHERE pipeline_name = 'sales_daily'
),
kept AS (
    SELECT
        a.sales_date,
        a.ship_country_code,
        a.sales_channel,
        a.order_count,
        a.unit_count,
        a.net_revenue_eur,
        a.vat_eur,
        'archive' AS row_origin
    FROM base.sales_daily_archive AS a
    CROSS JOIN frontier AS f
    WHERE a.sales_date <= f.reopen_after
),
rebuilt AS (
    SELECT
        o.order_date AS sales_date,
        o.ship_country_code,
        o.sales_channel,
        count(*) AS order_count,
        sum(o.unit_count) AS unit_count,
        sum(o.net_eur) AS net_revenue_eur,
        sum(o.vat_eur) AS vat_eur,
        'live' AS row_origin
    FROM marts.fct_orders AS o
    CROSS JOIN frontier AS f
    WHERE o.is_valid_sale
      AND o.order_date > f.reopen_after
    GROUP BY o.order_date, o.ship_country_code, o.sales_channel
)
SELECT * FROM kept
UNION ALL
SELECT * FROM rebuilt;

CREATE VIEW reports.rpt_refund_reasons AS
WITH sold AS (
    SELECT sku, sum(quantity) AS units, sum(net_eur) AS net_eur
    FROM marts.fct_order_lines
    WHERE is_valid_sale
      AND order_date > current_date - 180
    GROUP BY sku
),
back AS (
    SELECT
        sku,
        count(*) AS refund_count,
        sum(refund_net_eur) AS refund_net_eur,
        mode(reason_code) AS main_reason,
        count(*) FILTER (WHERE responsible_area = 'logistics') AS logistics_count,
        median(days_after_order) AS typical_days
    FROM marts.fct_refunds
    WHERE sku IS NOT NULL
      AND order_date > current_date - 180
    GROUP BY sku
)
SELECT
    p.sku,
    p.product_name,
    p.department,
    p.supplier_name,
    s.units,
    b.refund_count,
    b.refund_count / s.units AS refund_rate,
    b.refund_net_eur / nullif(s.net_eur, 0) AS value_rate,
    b.main_reason,
    b.logistics_count,
    b.typical_days
FROM back AS b
JOIN sold AS s
    ON s.sku = b.sku
JOIN marts.dim_products AS p
    ON p.sku = b.sku
WHERE s.units >= 30
ORDER BY refund_rate DESC
LIMIT 100;

CREATE VIEW reports.rpt_stock_ageing AS
SELECT
    p.department,
    y.warehouse_id,
    CASE
        WHEN y.best_before IS NOT NULL AND y.best_before < current_date + 60 THEN 'expiring'
        WHEN current_date - y.received_on <= 90 THEN 'fresh'
        WHEN current_date - y.received_on <= 365 THEN 'slow'
        ELSE 'dead'
    END AS age_class,
    count(DISTINCT y.sku) AS article_count,
    sum(y.units_left) AS units,
    sum(y.value_eur) AS value_eur,
    -- write-down rates agreed with the auditors
    round(sum(
        y.value_eur * CASE
            WHEN y.best_before IS NOT NULL AND y.best_before < current_date + 60 THEN 0.8
            WHEN current_date - y.received_on <= 90 THEN 0
            WHEN current_date - y.received_on <= 365 THEN 0.25
            ELSE 0.6
        END
    ), 2) AS provision_eur
FROM marts.fct_stock_layers AS y
JOIN marts.dim_products AS p
    ON p.sku = y.sku
GROUP BY ALL
ORDER BY provision_eur DESC;

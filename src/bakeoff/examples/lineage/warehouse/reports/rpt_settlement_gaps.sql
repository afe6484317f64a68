-- Reader: accounting. Worked through every Monday.
CREATE VIEW reports.rpt_settlement_gaps AS
WITH open_items AS (
    SELECT
        m.processor,
        m.processor_reference,
        m.order_id,
        m.match_state,
        m.currency_code,
        m.difference,
        m.difference * fx.eur_per_unit AS difference_eur,
        current_date - coalesce(m.captured_on, m.settled_on) AS age_days
    FROM marts.fct_settlement_matches AS m
    JOIN staging.stg_fx_rates AS fx
        ON fx.currency_code = m.currency_code
       AND fx.rate_date = coalesce(m.settled_on, m.captured_on)
    WHERE m.match_state NOT IN ('matched', 'in transit')
)
SELECT
    processor,
    match_state,
    CASE
        WHEN age_days <= 7 THEN '0-7'
        WHEN age_days <= 30 THEN '8-30'
        ELSE 'over 30'
    END AS age_bucket,
    count(*) AS item_count,
    round(sum(difference_eur), 2) AS difference_eur,
    round(sum(abs(difference_eur)), 2) AS absolute_eur,
    arg_max(processor_reference, abs(difference_eur)) AS largest_item
FROM open_items
GROUP BY ALL
HAVING sum(abs(difference_eur)) > 1
ORDER BY absolute_eur DESC;

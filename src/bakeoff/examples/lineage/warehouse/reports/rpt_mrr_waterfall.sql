CREATE VIEW reports.rpt_mrr_waterfall AS
WITH pivoted AS (
    SELECT
        month_start,
        sum(change_eur) FILTER (WHERE movement = 'new') AS new_eur,
        sum(change_eur) FILTER (WHERE movement = 'reactivation') AS reactivation_eur,
        sum(change_eur) FILTER (WHERE movement = 'expansion') AS expansion_eur,
        sum(change_eur) FILTER (WHERE movement = 'contraction') AS contraction_eur,
        sum(change_eur) FILTER (WHERE movement = 'churn') AS churn_eur,
        sum(change_eur) AS net_change_eur
    FROM marts.fct_mrr_movements
    GROUP BY month_start
),
running AS (
    SELECT
        *,
        sum(net_change_eur) OVER (ORDER BY month_start) AS closing_eur
    FROM pivoted
)
SELECT
    month_start,
    closing_eur - net_change_eur AS opening_eur,
    coalesce(new_eur, 0) AS new_eur,
    coalesce(reactivation_eur, 0) AS reactivation_eur,
    coalesce(expansion_eur, 0) AS expansion_eur,
    coalesce(contraction_eur, 0) AS contraction_eur,
    coalesce(churn_eur, 0) AS churn_eur,
    closing_eur,
    1 + (coalesce(expansion_eur, 0) + coalesce(contraction_eur, 0) + coalesce(churn_eur, 0))
        / nullif(closing_eur - net_change_eur, 0) AS net_retention
FROM running
ORDER BY month_start;

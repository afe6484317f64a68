CREATE TABLE marts.fct_mrr_movements AS
WITH bounds AS (
    SELECT
        subscription_id,
        min(month_start) AS first_month,
        least(max(month_start) + INTERVAL 1 MONTH, date_trunc('month', current_date)) AS last_month
    FROM marts.fct_subscription_months
    GROUP BY subscription_id
),
months AS (
    SELECT DISTINCT month_start
    FROM base.calendar
),
filled AS (
    SELECT
        b.subscription_id,
        c.month_start,
        b.first_month,
        coalesce(s.mrr_eur, 0) AS mrr_eur
    FROM bounds AS b
    JOIN months AS c
        ON c.month_start BETWEEN b.first_month AND b.last_month
    LEFT JOIN marts.fct_subscription_months AS s
        ON s.subscription_id = b.subscription_id
       AND s.month_start = c.month_start
),
stepped AS (
    SELECT
        *,
        coalesce(lag(mrr_eur) OVER (PARTITION BY subscription_id ORDER BY month_start), 0) AS before_eur
    FROM filled
)
SELECT
    subscription_id,
    month_start,
    before_eur,
    mrr_eur AS after_eur,
    mrr_eur - before_eur AS change_eur,
    CASE
        WHEN month_start = first_month THEN 'new'
        WHEN before_eur = 0 AND mrr_eur > 0 THEN 'reactivation'
        WHEN before_eur > 0 AND mrr_eur = 0 THEN 'churn'
        WHEN mrr_eur > before_eur THEN 'expansion'
        ELSE 'contraction'
    END AS movement
FROM stepped
WHERE mrr_eur <> before_eur;

CREATE VIEW reports.rpt_cohort_retention AS
WITH starts AS (
    SELECT person_id, date_trunc('month', order_date) AS cohort_month
    FROM marts.fct_orders
    WHERE order_sequence = 1
),
sizes AS (
    SELECT cohort_month, count(*) AS cohort_size
    FROM starts
    GROUP BY cohort_month
),
activity AS (
    SELECT
        s.cohort_month,
        date_diff('month', s.cohort_month, o.order_date) AS month_number,
        count(DISTINCT o.person_id) AS buyers,
        sum(o.net_eur) AS net_eur
    FROM starts AS s
    JOIN marts.fct_orders AS o
        ON o.person_id = s.person_id
       AND o.is_valid_sale
    GROUP BY s.cohort_month, date_diff('month', s.cohort_month, o.order_date)
)
SELECT
    a.cohort_month,
    z.cohort_size,
    a.month_number,
    a.buyers,
    a.buyers / z.cohort_size AS share_still_buying,
    sum(a.net_eur) OVER (
        PARTITION BY a.cohort_month ORDER BY a.month_number
    ) / z.cohort_size AS cumulative_eur_per_head
FROM activity AS a
JOIN sizes AS z
    ON z.cohort_month = a.cohort_month
ORDER BY a.cohort_month, a.month_number;

CREATE VIEW reports.rpt_monthly_revenue AS
WITH monthly AS (
    SELECT
        c.fiscal_year,
        c.fiscal_period,
        s.ship_country_code,
        sum(s.order_count) AS order_count,
        sum(s.net_revenue_eur) AS net_revenue_eur,
        bool_and(s.row_origin = 'archive') AS is_final
    FROM marts.fct_sales_daily AS s
    JOIN base.calendar AS c
        ON c.calendar_date = s.sales_date
    GROUP BY c.fiscal_year, c.fiscal_period, s.ship_country_code
)
SELECT
    *,
    net_revenue_eur / nullif(order_count, 0) AS average_order_eur,
    lag(net_revenue_eur) OVER same_period AS last_year_eur,
    net_revenue_eur / nullif(lag(net_revenue_eur) OVER same_period, 0) - 1 AS growth,
    sum(net_revenue_eur) OVER (
        PARTITION BY ship_country_code, fiscal_year
        ORDER BY fiscal_period
    ) AS year_to_date_eur
FROM monthly
WINDOW same_period AS (
    PARTITION BY ship_country_code, fiscal_period ORDER BY fiscal_year
)
ORDER BY fiscal_year, fiscal_period, ship_country_code;

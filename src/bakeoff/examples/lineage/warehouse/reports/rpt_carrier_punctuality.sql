CREATE VIEW reports.rpt_carrier_punctuality AS
WITH done AS (
    SELECT *
    FROM marts.fct_deliveries
    WHERE delivered_on IS NOT NULL
      AND service_level <> 'pickup'
)
SELECT
    carrier,
    service_level,
    ship_country_code,
    date_trunc('month', delivered_on) AS month_start,
    count(*) AS parcels,
    avg(days_under_way) AS mean_days,
    quantile_cont(days_under_way, 0.95) AS slowest_twentieth_days,
    1 - avg(CAST(is_late AS INTEGER)) AS on_time_rate,
    avg(CAST(left_late AS INTEGER)) AS our_fault_rate,
    sum(carrier_cost_eur) AS cost_eur,
    sum(CASE WHEN NOT left_late THEN claimable_eur ELSE 0 END) AS claim_eur,
    rank() OVER (
        PARTITION BY service_level, ship_country_code, date_trunc('month', delivered_on)
        ORDER BY 1 - avg(CAST(is_late AS INTEGER)) DESC
    ) AS place
FROM done
GROUP BY carrier, service_level, ship_country_code, date_trunc('month', delivered_on)
HAVING count(*) >= 20;

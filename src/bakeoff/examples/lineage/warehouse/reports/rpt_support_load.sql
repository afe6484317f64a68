CREATE VIEW reports.rpt_support_load AS
WITH daily AS (
    SELECT
        opened_on,
        topic,
        count(*) AS tickets,
        count(*) FILTER (WHERE had_late_parcel OR had_lost_parcel) AS parcel_tickets,
        avg(CAST(replied_in_time AS INTEGER)) AS in_time_rate,
        avg(satisfaction_score) AS satisfaction,
        avg(satisfaction_score) FILTER (WHERE tier_when_opened = 'gold') AS gold_satisfaction
    FROM marts.fct_support
    GROUP BY opened_on, topic
)
SELECT
    opened_on,
    topic,
    tickets,
    parcel_tickets,
    in_time_rate,
    satisfaction,
    gold_satisfaction,
    avg(tickets) OVER (
        PARTITION BY topic
        ORDER BY opened_on
        RANGE BETWEEN INTERVAL 27 DAY PRECEDING AND CURRENT ROW
    ) AS four_week_mean,
    tickets > 2 * avg(tickets) OVER (
        PARTITION BY topic
        ORDER BY opened_on
        RANGE BETWEEN INTERVAL 28 DAY PRECEDING AND INTERVAL 1 DAY PRECEDING
    ) AS is_spike
FROM daily;

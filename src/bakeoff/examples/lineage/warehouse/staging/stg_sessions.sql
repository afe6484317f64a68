-- Grain: visit.
CREATE VIEW staging.stg_sessions AS
WITH gaps AS (
    SELECT
        *,
        lag(event_at) OVER by_visitor AS previous_at,
        lag(traffic_channel) OVER by_visitor AS previous_channel
    FROM staging.stg_web_events
    WINDOW by_visitor AS (PARTITION BY visitor_id ORDER BY event_at, event_id)
),
numbered AS (
    SELECT
        *,
        sum(
            CASE
                WHEN previous_at IS NULL THEN 1
                WHEN event_at - previous_at > INTERVAL 30 MINUTE THEN 1
                WHEN traffic_channel <> 'direct' AND traffic_channel <> previous_channel THEN 1
                ELSE 0
            END
        ) OVER (PARTITION BY visitor_id ORDER BY event_at, event_id) AS session_number
    FROM gaps
)
SELECT
    visitor_id || '-' || CAST(session_number AS VARCHAR) AS session_id,
    visitor_id,
    max(customer_id) AS customer_id,
    min(event_at) AS started_at,
    max(event_at) AS ended_at,
    date_diff('second', min(event_at), max(event_at)) AS duration_seconds,
    count(*) AS event_count,
    arg_min(traffic_channel, event_at) AS traffic_channel,
    arg_min(campaign_name, event_at) AS campaign_name,
    arg_min(page_path, event_at) AS landing_page,
    max(order_id) AS order_id
FROM numbered
GROUP BY visitor_id, session_number;

-- Grain: visit. A step counts only when the steps before it were taken earlier.
CREATE TABLE marts.fct_funnel AS
WITH steps AS (
    SELECT
        s.session_id,
        s.traffic_channel,
        CAST(s.started_at AS DATE) AS session_date,
        min(e.event_at) FILTER (WHERE e.event_name = 'view_product') AS viewed_at,
        min(e.event_at) FILTER (WHERE e.event_name = 'add_to_basket') AS basket_at,
        min(e.event_at) FILTER (WHERE e.event_name = 'begin_checkout') AS checkout_at,
        min(e.event_at) FILTER (WHERE e.event_name = 'purchase') AS bought_at
    FROM staging.stg_sessions AS s
    JOIN staging.stg_web_events AS e
        ON e.visitor_id = s.visitor_id
       AND e.event_at BETWEEN s.started_at AND s.ended_at
    GROUP BY s.session_id, s.traffic_channel, CAST(s.started_at AS DATE)
)
SELECT
    session_id,
    session_date,
    traffic_channel,
    viewed_at IS NOT NULL AS did_view,
    coalesce(basket_at >= viewed_at, FALSE) AS did_basket,
    coalesce(checkout_at >= basket_at AND basket_at >= viewed_at, FALSE) AS did_checkout,
    coalesce(
        bought_at >= checkout_at AND checkout_at >= basket_at AND basket_at >= viewed_at, FALSE
    ) AS did_buy,
    date_diff('second', basket_at, bought_at) AS seconds_basket_to_buy
FROM steps;

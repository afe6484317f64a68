CREATE VIEW staging.stg_web_events AS
WITH human AS (
    SELECT *
    FROM base.web_events
    WHERE consent_given
      AND NOT regexp_matches(
          lower(coalesce(user_agent, '')),
          'bot|crawl|spider|slurp|headless|lighthouse|uptime'
      )
),
typed AS (
    SELECT
        event_id,
        visitor_id,
        customer_id,
        event_at,
        lower(event_name) AS event_name,
        -- /de/tee/assam?x=1 and /tee/assam/ are the same page
        rtrim(regexp_replace(split_part(coalesce(page_path, '/'), '?', 1), '^/[a-z]{2}/', '/'), '/')
            AS page_path,
        sku,
        order_id,
        CASE
            WHEN utm_medium IN ('cpc', 'ppc', 'paidsocial') THEN 'paid'
            WHEN utm_medium = 'email' THEN 'newsletter'
            WHEN utm_medium = 'affiliate' THEN 'affiliate'
            WHEN regexp_matches(coalesce(referrer_host, ''), 'google|bing|duckduckgo|ecosia') THEN 'organic search'
            WHEN coalesce(referrer_host, '') NOT IN ('', 'shop.kettlewick.example') THEN 'referral'
            ELSE 'direct'
        END AS traffic_channel,
        nullif(lower(utm_campaign), '') AS campaign_name
    FROM human
)
SELECT *
FROM typed
QUALIFY row_number() OVER (PARTITION BY event_id ORDER BY event_at) = 1;

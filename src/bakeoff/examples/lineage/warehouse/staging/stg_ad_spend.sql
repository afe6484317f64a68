CREATE VIEW staging.stg_ad_spend AS
WITH latest AS (
    SELECT *
    FROM base.ad_spend
    QUALIFY dense_rank() OVER (
        PARTITION BY spend_date, platform, account_id
        ORDER BY import_id DESC
    ) = 1
)
SELECT
    a.spend_date,
    a.platform,
    lower(trim(a.campaign_name)) AS campaign_name,
    CASE
        WHEN a.platform = 'affiliate' THEN 'affiliate'
        ELSE 'paid'
    END AS traffic_channel,
    sum(a.spend_amount * fx.eur_per_unit) AS spend_eur,
    sum(a.impressions) AS impressions,
    sum(a.clicks) AS clicks
FROM latest AS a
JOIN staging.stg_fx_rates AS fx
    ON fx.rate_date = a.spend_date
   AND fx.currency_code = upper(a.currency_code)
GROUP BY a.spend_date, a.platform, lower(trim(a.campaign_name));

-- Grain: day and currency, without holes. One euro is in the table as well so
-- that downstream joins need no special case.
CREATE VIEW staging.stg_fx_rates AS
WITH published AS (
    SELECT rate_date, currency_code, units_per_eur
    FROM base.fx_rates
    QUALIFY row_number() OVER (
        PARTITION BY rate_date, currency_code
        ORDER BY is_correction DESC, fetched_at DESC
    ) = 1
),
span AS (
    SELECT currency_code, min(rate_date) AS first_date
    FROM published
    GROUP BY currency_code
),
grid AS (
    SELECT c.calendar_date AS rate_date, s.currency_code
    FROM base.calendar AS c
    JOIN span AS s ON c.calendar_date >= s.first_date
    WHERE c.calendar_date <= current_date
),
filled AS (
    SELECT
        g.rate_date,
        g.currency_code,
        last_value(p.units_per_eur IGNORE NULLS) OVER w AS units_per_eur,
        last_value(p.rate_date IGNORE NULLS) OVER w AS quoted_on
    FROM grid AS g
    LEFT JOIN published AS p
        ON p.rate_date = g.rate_date
       AND p.currency_code = g.currency_code
    WINDOW w AS (
        PARTITION BY g.currency_code ORDER BY g.rate_date
        ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
    )
)
SELECT
    rate_date,
    currency_code,
    CAST(1.0 / units_per_eur AS DOUBLE) AS eur_per_unit,
    quoted_on,
    rate_date - quoted_on AS days_stale
FROM filled
UNION ALL
SELECT calendar_date, 'EUR', 1.0, calendar_date, 0
FROM base.calendar
WHERE calendar_date <= current_date;

-- Tickets without a known account are matched by the sender's address.
CREATE VIEW staging.stg_support_tickets AS
WITH by_mail AS (
    SELECT email_key, min(person_id) AS person_id
    FROM staging.stg_customer_identity
    GROUP BY email_key
)
SELECT
    t.ticket_id,
    coalesce(i.person_id, m.person_id) AS person_id,
    t.order_id,
    t.channel,
    coalesce(nullif(lower(trim(t.topic)), ''), 'other') AS topic,
    t.priority,
    t.opened_at,
    date_diff('minute', t.opened_at, t.first_reply_at) AS minutes_to_reply,
    date_diff('hour', t.opened_at, t.closed_at) AS hours_to_close,
    t.closed_at IS NULL AS is_open,
    t.reopened_count > 0 AS was_reopened,
    t.satisfaction_score
FROM base.support_tickets AS t
LEFT JOIN staging.stg_customer_identity AS i
    ON i.account_id = t.customer_id
LEFT JOIN by_mail AS m
    ON m.email_key = lower(trim(t.requester_email))
WHERE t.merged_into_ticket IS NULL;

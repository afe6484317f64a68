-- Export of the help desk, full reload every hour.
CREATE TABLE base.support_tickets (
    ticket_id            BIGINT PRIMARY KEY,
    customer_id          BIGINT,
    requester_email      VARCHAR NOT NULL,
    order_id             BIGINT,
    channel              VARCHAR NOT NULL
        CHECK (channel IN ('email', 'chat', 'phone', 'social')),
    topic                VARCHAR,
    priority             SMALLINT NOT NULL DEFAULT 3,
    assignee             VARCHAR,
    opened_at            TIMESTAMP NOT NULL,
    first_reply_at       TIMESTAMP,
    closed_at            TIMESTAMP,
    reopened_count       SMALLINT NOT NULL DEFAULT 0,
    satisfaction_score   SMALLINT CHECK (satisfaction_score BETWEEN 1 AND 5),
    merged_into_ticket   BIGINT
);

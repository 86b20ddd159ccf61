CREATE SCHEMA turnkeep_v2;
CREATE TABLE turnkeep_v2.calls (
    conversation bigint NOT NULL,
    message_id text NOT NULL,
    "position" integer NOT NULL,
    state text,
    expires_at text,
    version bigint NOT NULL,
    body text NOT NULL
);
CREATE TABLE turnkeep_v2.changes (
    conversation bigint NOT NULL,
    version bigint NOT NULL,
    message_id text NOT NULL,
    removed integer NOT NULL
);
CREATE TABLE turnkeep_v2.conversations (
    n bigint NOT NULL,
    id text NOT NULL,
    version bigint NOT NULL,
    floor bigint NOT NULL,
    serial bigint NOT NULL,
    next_seq bigint NOT NULL,
    messages bigint NOT NULL,
    tokens bigint NOT NULL,
    created_at text NOT NULL,
    updated_at text NOT NULL,
    progress text NOT NULL
);
ALTER TABLE turnkeep_v2.conversations ALTER COLUMN n ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME turnkeep_v2.conversations_n_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);
CREATE TABLE turnkeep_v2.links (
    conversation bigint NOT NULL,
    step bigint NOT NULL,
    seq bigint NOT NULL
);
CREATE TABLE turnkeep_v2.messages (
    conversation bigint NOT NULL,
    version bigint NOT NULL,
    seq bigint NOT NULL,
    id text NOT NULL,
    kind smallint NOT NULL,
    step bigint NOT NULL,
    turn bigint NOT NULL,
    pin text,
    tokens bigint NOT NULL,
    counter text,
    body text NOT NULL
);
CREATE TABLE turnkeep_v2.search_index (
    conversation bigint NOT NULL,
    seq bigint NOT NULL,
    words tsvector NOT NULL
);
CREATE TABLE turnkeep_v2.states (
    conversation bigint NOT NULL,
    body text NOT NULL
);
CREATE TABLE turnkeep_v2.turnkeep (
    version integer NOT NULL
);
CREATE TABLE turnkeep_v2.waiting (
    conversation bigint NOT NULL,
    seq bigint NOT NULL
);
INSERT INTO turnkeep_v2.calls VALUES (1, 'a', 0, 'resolved', NULL, 1, '{"message":"a","state":"resolved","since":"2026-01-02T12:00:00+00:00","closed_at":"2026-01-02T12:00:00+00:00"}');
INSERT INTO turnkeep_v2.calls VALUES (1, 'a', 1, NULL, '2026-01-02T12:00:00.000000+00:00', 1, '{"message":"a","position":1,"since":"2026-01-02T12:00:00+00:00","expires_at":"2026-01-02T12:00:00+00:00"}');
INSERT INTO turnkeep_v2.changes VALUES (1, 2, 's', 0);
INSERT INTO turnkeep_v2.changes VALUES (1, 3, 'msg-2', 1);
INSERT INTO turnkeep_v2.conversations OVERRIDING SYSTEM VALUE VALUES (1, 'chat', 4, 0, 3, 6, 5, 19, '2026-11-30T16:34:31.303102+00:00', '2026-11-30T16:34:31.315448+00:00', '[5,5,5,-1,[[2,2,1,1,"d","deploy"]]]');
INSERT INTO turnkeep_v2.conversations OVERRIDING SYSTEM VALUE VALUES (2, 'other', 1, 0, 1, 1, 1, 0, '2026-11-30T16:34:31.315929+00:00', '2026-11-30T16:34:31.316469+00:00', '[0,0,0,-1,[]]');
INSERT INTO turnkeep_v2.conversations OVERRIDING SYSTEM VALUE VALUES (3, 'twins', 7, 0, 6, 6, 6, 57, '2026-11-30T22:42:51.471208+00:00', '2026-11-30T22:42:51.618604+00:00', '[0,5,0,5,[[1,1,0,1,"c2","f"],[5,5,0,0,"z","f"]]]');
INSERT INTO turnkeep_v2.messages VALUES (1, 1, 1, 'msg-1', 1, 1, 1, 'turn', 4, 'approximate', '{"id":"msg-1","role":"user","content":"Remember Orion."}');
INSERT INTO turnkeep_v2.messages VALUES (1, 1, 2, 'a', 2, 2, 1, NULL, 5, 'approximate', '{"id":"a","role":"assistant","content":[{"type":"tool_call","id":"c","name":"build","arguments":{"target":"all"}},{"type":"tool_call","id":"d","name":"deploy"}]}');
INSERT INTO turnkeep_v2.messages VALUES (1, 1, 4, 'r', 3, 2, 1, NULL, 7, 'approximate', '{"id":"r","role":"tool_result","content":[{"type":"tool_result","tool_call_id":"c","content":"late news"}]}');
INSERT INTO turnkeep_v2.messages VALUES (1, 1, 0, 's', 0, 0, 0, 'step', 3, 'approximate', '{"id":"s","role":"system","content":"Be brief."}');
INSERT INTO turnkeep_v2.messages VALUES (1, 4, 5, 'msg-3', 1, 5, 5, NULL, -1, NULL, '{"id":"msg-3","role":"user","content":"Again?"}');
INSERT INTO turnkeep_v2.messages VALUES (2, 1, 0, 'msg-1', 1, 0, 0, NULL, -1, NULL, '{"id":"msg-1","role":"user","content":"Orion elsewhere"}');
INSERT INTO turnkeep_v2.messages VALUES (3, 2, 0, 'msg-1', 1, 0, 0, NULL, 5, 'o200k_base/openai', '{"id":"msg-1","role":"user","content":"q","timestamp":"2026-11-30T22:42:51.534072+00:00"}');
INSERT INTO turnkeep_v2.messages VALUES (3, 3, 1, 'msg-2', 2, 1, 0, NULL, 14, 'o200k_base/openai', '{"id":"msg-2","role":"assistant","content":[{"type":"tool_call","id":"c1","name":"f"},{"type":"tool_call","id":"c2","name":"f"}],"timestamp":"2026-11-30T22:42:51.554371+00:00"}');
INSERT INTO turnkeep_v2.messages VALUES (3, 4, 2, 'msg-3', 3, 1, 0, NULL, 9, 'o200k_base/openai', '{"id":"msg-3","role":"tool_result","content":[{"type":"tool_result","tool_call_id":"c1","tool_name":"f","content":"one"}],"timestamp":"2026-11-30T22:42:51.575065+00:00"}');
INSERT INTO turnkeep_v2.messages VALUES (3, 5, 3, 'msg-4', 2, 3, 0, NULL, 10, 'o200k_base/openai', '{"id":"msg-4","role":"assistant","content":[{"type":"text","text":"more"},{"type":"tool_call","id":"c2","name":"f"}],"timestamp":"2026-11-30T22:42:51.590373+00:00"}');
INSERT INTO turnkeep_v2.messages VALUES (3, 6, 4, 'msg-5', 3, 3, 0, NULL, 11, 'o200k_base/openai', '{"id":"msg-5","role":"tool_result","content":[{"type":"tool_result","tool_call_id":"c2","tool_name":"f","content":"of the first"}],"timestamp":"2026-11-30T22:42:51.606361+00:00","metadata":{"turnkeep:answers":"msg-2"}}');
INSERT INTO turnkeep_v2.messages VALUES (3, 7, 5, 'msg-6', 2, 5, 0, NULL, 8, 'o200k_base/openai', '{"id":"msg-6","role":"assistant","content":[{"type":"tool_call","id":"z","name":"f"}],"timestamp":"2026-11-30T22:42:51.618197+00:00"}');
INSERT INTO turnkeep_v2.search_index VALUES (1, 0, '''be'' ''brief''');
INSERT INTO turnkeep_v2.search_index VALUES (1, 1, '''orion'' ''remember''');
INSERT INTO turnkeep_v2.search_index VALUES (1, 2, '''all'' ''build'' ''deploy'' ''target''');
INSERT INTO turnkeep_v2.search_index VALUES (1, 4, '''late'' ''news''');
INSERT INTO turnkeep_v2.search_index VALUES (1, 5, '''again''');
INSERT INTO turnkeep_v2.search_index VALUES (2, 0, '''elsewhere'' ''orion''');
INSERT INTO turnkeep_v2.states VALUES (1, '{"model":"gpt-4o"}');
INSERT INTO turnkeep_v2.states VALUES (3, '{"model":"gpt-4o","counter":"o200k_base/openai","next_id":1}');
INSERT INTO turnkeep_v2.turnkeep VALUES (2);
INSERT INTO turnkeep_v2.waiting VALUES (3, 0);
SELECT pg_catalog.setval('turnkeep_v2.conversations_n_seq', 3, true);
ALTER TABLE ONLY turnkeep_v2.calls
    ADD CONSTRAINT calls_pkey PRIMARY KEY (conversation, message_id, "position");
ALTER TABLE ONLY turnkeep_v2.changes
    ADD CONSTRAINT changes_pkey PRIMARY KEY (conversation, version, message_id, removed);
ALTER TABLE ONLY turnkeep_v2.conversations
    ADD CONSTRAINT conversations_id_key UNIQUE (id);
ALTER TABLE ONLY turnkeep_v2.conversations
    ADD CONSTRAINT conversations_pkey PRIMARY KEY (n);
ALTER TABLE ONLY turnkeep_v2.links
    ADD CONSTRAINT links_pkey PRIMARY KEY (conversation, step, seq);
ALTER TABLE ONLY turnkeep_v2.messages
    ADD CONSTRAINT messages_conversation_id_key UNIQUE (conversation, id);
ALTER TABLE ONLY turnkeep_v2.messages
    ADD CONSTRAINT messages_pkey PRIMARY KEY (conversation, seq);
ALTER TABLE ONLY turnkeep_v2.search_index
    ADD CONSTRAINT search_index_pkey PRIMARY KEY (conversation, seq);
ALTER TABLE ONLY turnkeep_v2.states
    ADD CONSTRAINT states_pkey PRIMARY KEY (conversation);
ALTER TABLE ONLY turnkeep_v2.waiting
    ADD CONSTRAINT waiting_pkey PRIMARY KEY (conversation);
CREATE INDEX calls_by_version ON turnkeep_v2.calls USING btree (conversation, version);
CREATE INDEX calls_due ON turnkeep_v2.calls USING btree (expires_at) WHERE ((state IS NULL) AND (expires_at IS NOT NULL));
CREATE INDEX held ON turnkeep_v2.messages USING btree (conversation, seq) WHERE ((pin IS NOT NULL) OR (kind = 0));
CREATE INDEX links_by_row ON turnkeep_v2.links USING btree (conversation, seq);
CREATE INDEX search_words ON turnkeep_v2.search_index USING gin (words);
CREATE INDEX starts ON turnkeep_v2.messages USING btree (conversation, seq) WHERE (seq = turn);
ALTER TABLE ONLY turnkeep_v2.calls
    ADD CONSTRAINT calls_conversation_message_id_fkey FOREIGN KEY (conversation, message_id) REFERENCES turnkeep_v2.messages(conversation, id) ON DELETE CASCADE;
ALTER TABLE ONLY turnkeep_v2.changes
    ADD CONSTRAINT changes_conversation_fkey FOREIGN KEY (conversation) REFERENCES turnkeep_v2.conversations(n) ON DELETE CASCADE;
ALTER TABLE ONLY turnkeep_v2.links
    ADD CONSTRAINT links_conversation_seq_fkey FOREIGN KEY (conversation, seq) REFERENCES turnkeep_v2.messages(conversation, seq) ON DELETE CASCADE;
ALTER TABLE ONLY turnkeep_v2.search_index
    ADD CONSTRAINT search_index_conversation_seq_fkey FOREIGN KEY (conversation, seq) REFERENCES turnkeep_v2.messages(conversation, seq) ON DELETE CASCADE;
ALTER TABLE ONLY turnkeep_v2.states
    ADD CONSTRAINT states_conversation_fkey FOREIGN KEY (conversation) REFERENCES turnkeep_v2.conversations(n) ON DELETE CASCADE;
ALTER TABLE ONLY turnkeep_v2.waiting
    ADD CONSTRAINT waiting_conversation_fkey FOREIGN KEY (conversation) REFERENCES turnkeep_v2.conversations(n) ON DELETE CASCADE;

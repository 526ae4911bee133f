/**
 * What PostgreSQL does in one step that is more than a statement: functions, so that a step is one request, and no transaction waits
 * for a client that may be gone. Each begins with a lock of its partition, which keeps those from it that would make a guard, too.
 * A statement in them sees what was committed until it began.
 */

/** The word behind `hashtext` is of Keyturn alone; others that lock the same number only wait. */
const LOCK = `PERFORM pg_advisory_xact_lock(hashtext('keyturn ' || c), p);`;

/**
 * The generation of a guard that is not there. If only the guard is gone, the rows that it had count still. One that says that
 * nothing was ever written (at 0) has none: nobody would read them.
 */
const BEGIN_GENERATION = `
CREATE OR REPLACE FUNCTION keyturn.begin_guard(c text, p integer) RETURNS keyturn.guards LANGUAGE plpgsql AS $$
DECLARE
  g keyturn.guards;
BEGIN
  g.cluster := c; g.partition := p; g.owner := ''; g.epoch := 0; g.member := ''; g.seq := 0; g.at := 0; g.floor := 0; g.format := 0;
  SELECT x.id INTO g.generation FROM keyturn.generations x WHERE x.cluster = c AND x.partition = p AND x.state = 'counts' FOR UPDATE;
  IF NOT FOUND THEN
    INSERT INTO keyturn.generations AS x (cluster, partition, state) VALUES (c, p, 'counts') RETURNING x.id INTO g.generation;
  ELSIF EXISTS (SELECT 1 FROM keyturn.rows x WHERE x.generation = g.generation) THEN
    g.at := floor(extract(epoch FROM clock_timestamp()) * 1000);
  END IF;
  RETURN g;
END $$;
`;

const PUT_GUARD = `
CREATE OR REPLACE FUNCTION keyturn.put_guard(g keyturn.guards) RETURNS void LANGUAGE sql AS $$
  INSERT INTO keyturn.guards SELECT (g).*
  ON CONFLICT (cluster, partition) DO UPDATE SET owner = excluded.owner, epoch = excluded.epoch, member = excluded.member,
    seq = excluded.seq, at = excluded.at, floor = excluded.floor, format = excluded.format, generation = excluded.generation
$$;
`;

/** The record is kept from who would withdraw it because nothing was ever claimed. */
const CLAIM = `
CREATE OR REPLACE FUNCTION keyturn.claim(c text, p integer, expected text, expected_seq bigint, own text, new_member text,
  new_floor bigint, new_format integer, epochs_begin bigint)
RETURNS TABLE (claimed boolean, guard keyturn.guards, floor_before bigint, now_ms bigint) LANGUAGE plpgsql AS $$
DECLARE
  g keyturn.guards;
  found_it boolean;
BEGIN
  ${LOCK}
  SELECT x.* INTO g FROM keyturn.guards x WHERE x.cluster = c AND x.partition = p FOR UPDATE;
  found_it := FOUND;
  claimed := coalesce(g.owner, '') = expected AND (expected_seq IS NULL OR coalesce(g.seq, 0) = expected_seq);
  IF NOT claimed THEN
    guard := g;
    RETURN NEXT;
    RETURN;
  END IF;
  IF NOT found_it THEN
    PERFORM 1 FROM keyturn.records x WHERE x.cluster = c FOR KEY SHARE;
    g := keyturn.begin_guard(c, p);
  END IF;
  now_ms := floor(extract(epoch FROM clock_timestamp()) * 1000);
  floor_before := g.floor;
  g.epoch := greatest(g.epoch + 1, now_ms - epochs_begin);
  g.owner := g.epoch || ':' || own;
  g.member := new_member;
  g.floor := greatest(g.floor, new_floor);
  g.format := new_format;
  PERFORM keyturn.put_guard(g);
  guard := g;
  RETURN NEXT;
END $$;
`;

/** `seen_owner` unset: there must be none. */
const REASSERT = `
CREATE OR REPLACE FUNCTION keyturn.reassert(c text, p integer, seen_owner text, seen_seq bigint, new_owner text, new_epoch bigint,
  new_member text, new_floor bigint, new_format integer)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  g keyturn.guards;
BEGIN
  ${LOCK}
  SELECT x.* INTO g FROM keyturn.guards x WHERE x.cluster = c AND x.partition = p FOR UPDATE;
  IF FOUND THEN
    IF g.owner = new_owner THEN RETURN true; END IF;
    IF seen_owner IS NULL OR g.owner <> seen_owner OR g.seq <> seen_seq THEN RETURN false; END IF;
  ELSE
    IF seen_owner IS NOT NULL THEN RETURN false; END IF;
    g := keyturn.begin_guard(c, p);
  END IF;
  g.owner := new_owner;
  g.epoch := new_epoch;
  g.member := new_member;
  g.floor := greatest(g.floor, new_floor);
  g.format := new_format;
  PERFORM keyturn.put_guard(g);
  RETURN true;
END $$;
`;

/** Rows that were staged count, if they are staged still, and the guard is as it was seen. */
const SWITCH = `
CREATE OR REPLACE FUNCTION keyturn.switch(c text, p integer, seen_owner text, seen_seq bigint, new_owner text, new_epoch bigint,
  new_member text, new_seq bigint, new_at float8, new_floor bigint, new_format integer, new_generation bigint)
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  g keyturn.guards;
BEGIN
  ${LOCK}
  SELECT x.* INTO g FROM keyturn.guards x WHERE x.cluster = c AND x.partition = p FOR UPDATE;
  IF FOUND THEN
    IF g.owner = new_owner AND g.seq = new_seq THEN RETURN true; END IF;
    IF seen_owner IS NULL OR g.owner <> seen_owner OR g.seq <> seen_seq THEN RETURN false; END IF;
  ELSIF seen_owner IS NOT NULL THEN RETURN false;
  END IF;
  PERFORM 1 FROM keyturn.generations x WHERE x.id = new_generation AND x.state = 'staged' FOR UPDATE;
  IF NOT FOUND THEN RETURN false; END IF;
  UPDATE keyturn.generations x SET state = 'swept' WHERE x.cluster = c AND x.partition = p AND x.state = 'counts';
  UPDATE keyturn.generations x SET state = 'counts' WHERE x.id = new_generation;
  g.cluster := c; g.partition := p; g.owner := new_owner; g.epoch := new_epoch; g.member := new_member; g.seq := new_seq;
  g.at := new_at; g.floor := new_floor; g.format := new_format; g.generation := new_generation;
  PERFORM keyturn.put_guard(g);
  RETURN true;
END $$;
`;

/** Rows of the other cluster are removed when their partitions are claimed. */
const RESTORE_RECORD = `
CREATE OR REPLACE FUNCTION keyturn.restore_record(c text, seen text, new_id text, new_revision bigint, new_body text, waiting integer[])
RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  stands text;
BEGIN
  PERFORM pg_advisory_xact_lock(hashtext('keyturn ' || c), -1);
  SELECT x.id INTO stands FROM keyturn.records x WHERE x.cluster = c FOR UPDATE;
  IF coalesce(stands, '') <> seen THEN RETURN false; END IF;
  INSERT INTO keyturn.records AS x (cluster, id, revision, body) VALUES (c, new_id, new_revision, new_body)
    ON CONFLICT (cluster) DO UPDATE SET id = excluded.id, revision = excluded.revision, body = excluded.body WHERE x.id = seen;
  IF NOT FOUND THEN RETURN false; END IF;
  DELETE FROM keyturn.orders x WHERE x.cluster = c;
  IF seen <> '' THEN
    DELETE FROM keyturn.guards x WHERE x.cluster = c;
    UPDATE keyturn.generations x SET state = 'swept' WHERE x.cluster = c;
  END IF;
  INSERT INTO keyturn.orders (cluster, partition, body) SELECT c, one, 'wait' FROM unnest(waiting) AS one;
  RETURN true;
END $$;
`;

const WITHDRAW_RECORD = `
CREATE OR REPLACE FUNCTION keyturn.withdraw_record(c text, own_id text) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  PERFORM 1 FROM keyturn.records x WHERE x.cluster = c AND x.id = own_id FOR UPDATE;
  IF NOT FOUND OR EXISTS (SELECT 1 FROM keyturn.guards x WHERE x.cluster = c)
    OR EXISTS (SELECT 1 FROM keyturn.orders x WHERE x.cluster = c) THEN RETURN false; END IF;
  DELETE FROM keyturn.records x WHERE x.cluster = c;
  RETURN true;
END $$;
`;

export const FUNCTIONS = [BEGIN_GENERATION, PUT_GUARD, CLAIM, REASSERT, SWITCH, RESTORE_RECORD, WITHDRAW_RECORD].join(
  '',
);

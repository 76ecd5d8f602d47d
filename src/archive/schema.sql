-- The archive's tables. A section `-- version N` takes an archive from version N - 1 to N, and a new archive goes through all of
-- them: a section that was released is never changed, a change is a new section below. PRAGMA user_version has the version.

-- version 1
CREATE TABLE run (
  id         INTEGER PRIMARY KEY,
  task       TEXT NOT NULL,
  direction  TEXT NOT NULL,
  dtype      TEXT NOT NULL,
  seed       TEXT NOT NULL,              -- decimal: SQLite's integers end at 2^63
  options    TEXT NOT NULL,              -- JSON: all that a resumed run must have the same
  budget     TEXT NOT NULL,              -- JSON: may be another when it is resumed
  state      TEXT NOT NULL CHECK (state IN ('running', 'stopped', 'finished')),
  seconds    REAL NOT NULL DEFAULT 0,    -- of all its sessions together
  started_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  changed_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now'))
);

CREATE TABLE candidate (
  id         INTEGER PRIMARY KEY,
  run        INTEGER REFERENCES run (id),  -- null: came from outside a run
  number     INTEGER,                      -- within its run, in the order of proposals
  task       TEXT NOT NULL,
  direction  TEXT NOT NULL,
  dtype      TEXT NOT NULL,
  generation INTEGER NOT NULL,
  island     INTEGER NOT NULL,
  proposer   TEXT NOT NULL,
  note       TEXT NOT NULL,                -- the proposer's, in words
  genes      TEXT NOT NULL,                -- JSON: the proposer's own description
  source     TEXT NOT NULL,
  source_sha256 TEXT NOT NULL,
  ptx_hash   TEXT NOT NULL,                -- of the normalised PTX; empty: never compiled
  verdict    TEXT NOT NULL CHECK (verdict IN
    ('verified', 'refuted', 'inconclusive', 'unsupported', 'rejected', 'none')),
  stage      TEXT NOT NULL,                -- that decided
  reason     TEXT NOT NULL,                -- in one line
  findings   TEXT NOT NULL,                -- JSON, as in a report of `kernelsmith verify`
  counters   TEXT NOT NULL,                -- JSON
  time_ns    REAL,
  time_kind  TEXT CHECK (time_kind IN ('estimated', 'measured')),
  gpu        TEXT NOT NULL,                -- that the time is for
  limits     TEXT NOT NULL,                -- JSON: what limits it
  cell       TEXT NOT NULL,                -- of the archive of elites
  prompt     TEXT NOT NULL,
  answer     TEXT NOT NULL,
  tokens_in  INTEGER NOT NULL,
  tokens_out INTEGER NOT NULL,
  dollars    REAL NOT NULL,
  seconds    REAL NOT NULL,                -- that its evaluation took
  created_at TEXT NOT NULL DEFAULT (strftime('%Y-%m-%dT%H:%M:%fZ', 'now')),
  UNIQUE (run, number),
  CHECK ((time_ns IS NULL) = (time_kind IS NULL))  -- a time always says what it is
);

CREATE TABLE parent (
  candidate INTEGER NOT NULL REFERENCES candidate (id),
  position  INTEGER NOT NULL,
  parent    INTEGER NOT NULL REFERENCES candidate (id),
  PRIMARY KEY (candidate, position)
) WITHOUT ROWID;

-- version 2
CREATE INDEX candidate_by_task ON candidate (task, direction, dtype, verdict, time_ns);
CREATE INDEX candidate_by_source ON candidate (source_sha256);

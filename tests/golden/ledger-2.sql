-- What the program wrote between 0.1.0 and the next version: tables of version 2.
PRAGMA application_id=1886615089;
PRAGMA user_version=2;
BEGIN TRANSACTION;
CREATE TABLE entry(
  seq INTEGER PRIMARY KEY, kind TEXT NOT NULL, payload TEXT NOT NULL,
  prev TEXT NOT NULL UNIQUE, hash TEXT NOT NULL UNIQUE) STRICT;
INSERT INTO "entry" VALUES(1,'grant','{"account":"pure","delta_limit":"0","kind":"grant","limit":1500000000,"neighbours":null,"population":"pure","rho_limit":"0","rows_per_person":null,"seq":1,"unit":null}','0000000000000000000000000000000000000000000000000000000000000000','e586fe2f554f8726804426d96f295aec7a686ee4567e115a8ffb7b787e1a0c61');
INSERT INTO "entry" VALUES(2,'reserve','{"charged":{"delta":"0","epsilon":"0.5","factor":"1","neighbours":"replace-one","rho":"0.125","rows_per_person":null,"unit":"one row of the table"},"claim":{"claim":{"neighbours":"replace-one","unit":"one row of the table"}},"delta":"0","kind":"reserve","population":"pure","request":"a534adc77803b7954697279b74e48db6","reserved_at":"2026-11-22T23:57:50Z","rho":"0.125","seq":2,"units":500000000}','e586fe2f554f8726804426d96f295aec7a686ee4567e115a8ffb7b787e1a0c61','622976819c81e32d56576280e90a68792e86d44fec2e3bfb698d685b3ecdd1f6');
INSERT INTO "entry" VALUES(3,'commit','{"kind":"commit","population":"pure","release_sha256":"abababababababababababababababababababababababababababababababab","request":"a534adc77803b7954697279b74e48db6","seq":3}','622976819c81e32d56576280e90a68792e86d44fec2e3bfb698d685b3ecdd1f6','a59ec59f3c14f84561eb0ac4364c754e70c145a75a89e726a23deeedbdd2a1b7');
INSERT INTO "entry" VALUES(4,'reserve','{"charged":{"delta":"0","epsilon":"0.25","factor":"1","neighbours":"replace-one","rho":"0.03125","rows_per_person":null,"unit":"one row of the table"},"claim":{"claim":{"neighbours":"replace-one","unit":"one row of the table"}},"delta":"0","kind":"reserve","population":"pure","request":"a81bcd9c8a9c4787d1d99d04f35b0bc4","reserved_at":"2026-11-22T23:57:50Z","rho":"0.03125","seq":4,"units":250000000}','a59ec59f3c14f84561eb0ac4364c754e70c145a75a89e726a23deeedbdd2a1b7','c5954d6951a15a5071241f2898483c51aeeb01d0bda080fb2764cdaf5c75be3a');
INSERT INTO "entry" VALUES(5,'grant','{"account":"approximate","delta_limit":"0.000001","kind":"grant","limit":2000000000,"neighbours":"replace-one","population":"both","rho_limit":"0.083441717833","rows_per_person":4,"seq":5,"unit":"person"}','c5954d6951a15a5071241f2898483c51aeeb01d0bda080fb2764cdaf5c75be3a','d0907d4b9dd7a4b2e4d4dc653c1533b5b900c66544cee95e9c34f4317b3185ba');
INSERT INTO "entry" VALUES(6,'reserve','{"charged":{"delta":"0","epsilon":"0.8","factor":"8","neighbours":"replace-one","rho":"0.32","rows_per_person":4,"unit":"one person with all their rows"},"claim":{"claim":{"neighbours":"add-remove","unit":"one row of the table"}},"delta":"0","kind":"reserve","population":"both","request":"cbc0da2a4091a6ffa57eaae1d3a95de7","reserved_at":"2026-11-22T23:57:50Z","rho":"0.005","seq":6,"units":100000000}','d0907d4b9dd7a4b2e4d4dc653c1533b5b900c66544cee95e9c34f4317b3185ba','6dabc4224bdd1753eea6cea6376adf7e10a66dc68833531abe4256a01e95638d');
INSERT INTO "entry" VALUES(7,'reserve','{"charged":{"delta":"0.00000001","epsilon":"0.2","factor":"1","neighbours":"replace-one","rho":null,"rows_per_person":4,"unit":"one person with all their rows"},"claim":{"claim":{"neighbours":"replace-one","unit":"one person with all their rows"}},"delta":"0.00000001","kind":"reserve","population":"both","request":"cc96bd94a313eab8e3bd8485c141dd0d","reserved_at":"2026-11-22T23:57:50Z","rho":null,"seq":7,"units":200000000}','6dabc4224bdd1753eea6cea6376adf7e10a66dc68833531abe4256a01e95638d','083ff97f2a0bf093949dcb7338939796709bc97ff34057db7b37de81c99e27a4');
INSERT INTO "entry" VALUES(8,'grant','{"account":"approximate","delta_limit":"0.000001","kind":"grant","limit":1000000000,"neighbours":null,"population":"plain","rho_limit":"0.022937446688","rows_per_person":null,"seq":8,"unit":null}','083ff97f2a0bf093949dcb7338939796709bc97ff34057db7b37de81c99e27a4','c5c7afe64b9891f06ed8b0fa47b7b014b50aa9deb45e07fa7dbb10a749372e52');
INSERT INTO "entry" VALUES(9,'reserve','{"charged":{"delta":"0.0000009","epsilon":"0.5","factor":"1","neighbours":"replace-one","rho":null,"rows_per_person":null,"unit":"one row of the table"},"claim":{"claim":{"neighbours":"replace-one","unit":"one row of the table"}},"delta":"0.0000009","kind":"reserve","population":"plain","request":"2839d6650f9cd8fc7f0c1e466dc1a66a","reserved_at":"2026-11-22T23:57:50Z","rho":null,"seq":9,"units":500000000}','c5c7afe64b9891f06ed8b0fa47b7b014b50aa9deb45e07fa7dbb10a749372e52','f3f4cd25cbd46169399a95b9708a13e03211bd23cea34c8c1e77c6a6b0682937');
INSERT INTO "entry" VALUES(10,'grant','{"account":"approximate","delta_limit":"0.000001","kind":"grant","limit":1000000000,"neighbours":null,"population":"fresh","rho_limit":"0.022937446688","rows_per_person":null,"seq":10,"unit":null}','f3f4cd25cbd46169399a95b9708a13e03211bd23cea34c8c1e77c6a6b0682937','ee799c4b907424e35679f9663cb4f7db1c9a16b91b018e13b3a05f6df64d553d');
INSERT INTO "entry" VALUES(11,'people','{"kind":"people","population":"guests","seq":11}','ee799c4b907424e35679f9663cb4f7db1c9a16b91b018e13b3a05f6df64d553d','c337f2121827f874b0f6033e1d80451a5ee21c08e18b08e55ba5ad9519b18b14');
INSERT INTO "entry" VALUES(12,'publish','{"claim":{"a":1},"columns":["age","ward"],"k":5,"kind":"publish","model":"few","population":"guests","seq":12,"snapshot":"2026"}','c337f2121827f874b0f6033e1d80451a5ee21c08e18b08e55ba5ad9519b18b14','e8ac107e6ecc9755934d48984ad47c6a6bd800056a85b4b025b886b2b066e57e');
INSERT INTO "entry" VALUES(13,'other-people','{"kind":"other-people","population":"guests","seq":13,"signed":"A. Clerk","snapshot":"2027"}','e8ac107e6ecc9755934d48984ad47c6a6bd800056a85b4b025b886b2b066e57e','8265c5bfe8ac8a5e9b3e44f3e7286762dece019f5f4b5a08083c89661de78302');
CREATE TABLE population(
  id TEXT PRIMARY KEY, account TEXT NOT NULL CHECK(account IN ('pure', 'approximate')),
  lim INTEGER NOT NULL DEFAULT 0 CHECK(lim >= 0),
  spent INTEGER NOT NULL DEFAULT 0 CHECK(spent BETWEEN 0 AND 4611686018427387903),
  delta_lim INTEGER NOT NULL DEFAULT 0 CHECK((delta_lim > 0) = (account = 'approximate')),
  delta_spent INTEGER NOT NULL DEFAULT 0 CHECK(delta_spent BETWEEN 0 AND 4611686018427387903),
  delta_share INTEGER NOT NULL DEFAULT 0 CHECK(delta_share BETWEEN 0 AND delta_lim),
  rho_lim INTEGER NOT NULL DEFAULT 0
    CHECK(rho_lim >= 0 AND (rho_lim = 0 OR account = 'approximate')),
  rho_spent INTEGER NOT NULL DEFAULT 0 CHECK(rho_spent BETWEEN 0 AND 4611686018427387903),
  unit TEXT CHECK(unit IN ('row', 'person')),
  neighbours TEXT CHECK(neighbours IN ('replace-one', 'add-remove')),
  rows_per_person INTEGER
    CHECK(rows_per_person IS NULL OR (rows_per_person >= 1 AND unit IS 'person')),
  CHECK((unit IS NULL) = (neighbours IS NULL)),
  CHECK((spent <= lim AND delta_spent <= delta_share)
    OR (rho_lim > 0 AND rho_spent <= rho_lim))) STRICT;
INSERT INTO "population" VALUES('pure','pure',1500000000,750000000,0,0,0,0,156250000000,'row','replace-one',NULL);
INSERT INTO "population" VALUES('both','approximate',2000000000,1000000000,1000000000000,10000000000,500000000000,83441717833,4611686018427387903,'person','replace-one',4);
INSERT INTO "population" VALUES('plain','approximate',1000000000,500000000,1000000000000,900000000000,1000000000000,0,4611686018427387903,'row','replace-one',NULL);
INSERT INTO "population" VALUES('fresh','approximate',1000000000,0,1000000000000,0,500000000000,22937446688,0,NULL,NULL,NULL);
INSERT INTO "population" VALUES('guests','pure',0,0,0,0,0,0,0,NULL,NULL,NULL);
CREATE TABLE publication(
  seq INTEGER PRIMARY KEY REFERENCES entry(seq),
  population TEXT NOT NULL REFERENCES population(id), snapshot TEXT NOT NULL,
  columns TEXT NOT NULL, k INTEGER NOT NULL CHECK(k > 0), model TEXT NOT NULL) STRICT;
INSERT INTO "publication" VALUES(12,'guests','2026','["age","ward"]',5,'few');
CREATE TABLE request(
  id TEXT PRIMARY KEY, population TEXT NOT NULL REFERENCES population(id),
  units INTEGER NOT NULL CHECK(units > 0),
  delta_units INTEGER NOT NULL CHECK(delta_units >= 0),
  state TEXT NOT NULL CHECK(state IN ('reserved', 'committed')),
  seq INTEGER NOT NULL UNIQUE REFERENCES entry(seq),
  rho_units INTEGER NOT NULL CHECK(rho_units > 0),
  factor TEXT NOT NULL) STRICT;
INSERT INTO "request" VALUES('a534adc77803b7954697279b74e48db6','pure',500000000,0,'committed',2,125000000000,'1');
INSERT INTO "request" VALUES('a81bcd9c8a9c4787d1d99d04f35b0bc4','pure',250000000,0,'reserved',4,31250000000,'1');
INSERT INTO "request" VALUES('cbc0da2a4091a6ffa57eaae1d3a95de7','both',800000000,0,'reserved',6,320000000000,'8');
INSERT INTO "request" VALUES('cc96bd94a313eab8e3bd8485c141dd0d','both',200000000,10000000000,'reserved',7,4611686018427387903,'1');
INSERT INTO "request" VALUES('2839d6650f9cd8fc7f0c1e466dc1a66a','plain',500000000,900000000000,'reserved',9,4611686018427387903,'1');
CREATE TRIGGER entry_update BEFORE UPDATE ON entry  BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER entry_delete BEFORE DELETE ON entry  BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER publication_update BEFORE UPDATE ON publication  BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER publication_delete BEFORE DELETE ON publication  BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER request_delete BEFORE DELETE ON request  BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER request_update BEFORE UPDATE ON request WHEN OLD.state <> 'reserved' OR NEW.id <> OLD.id OR NEW.population <> OLD.population OR NEW.units <> OLD.units OR NEW.delta_units <> OLD.delta_units OR NEW.seq <> OLD.seq OR NEW.rho_units <> OLD.rho_units OR NEW.factor <> OLD.factor BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER population_delete BEFORE DELETE ON population  BEGIN SELECT RAISE(ABORT, 'append-only'); END;
CREATE TRIGGER population_update BEFORE UPDATE ON population WHEN NEW.spent < OLD.spent OR NEW.delta_spent < OLD.delta_spent OR NEW.id <> OLD.id OR (OLD.lim > 0 AND (NEW.account, NEW.lim, NEW.delta_lim) <> (OLD.account, OLD.lim, OLD.delta_lim)) OR NEW.rho_spent < OLD.rho_spent OR (OLD.spent > 0 AND (NEW.delta_share, NEW.rho_lim) <> (OLD.delta_share, OLD.rho_lim)) OR (OLD.unit IS NOT NULL AND (NEW.unit IS NOT OLD.unit OR NEW.neighbours IS NOT OLD.neighbours OR NEW.rows_per_person IS NOT OLD.rows_per_person)) BEGIN SELECT RAISE(ABORT, 'append-only'); END;
COMMIT;

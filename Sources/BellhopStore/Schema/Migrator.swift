import BellhopCore

/// Upgrades a database to the program's schema, one version at a time, or says why it cannot.
struct Migrator {
    var migrations = Schema.migrations

    /// The state of a database's schema.
    enum State: Hashable {
        case current
        /// Made by an older program, or empty (version 0).
        case older(Int64)
    }

    /// The state of the database's schema; throws if it is newer than the program or another program's.
    func state(of session: Session, path: String) throws -> State {
        let application = try session.int("PRAGMA application_id")
        let version = try session.int("PRAGMA user_version")
        let newest = Int64(migrations.count)
        if application == Schema.application {
            guard version <= newest else {
                throw StoreError(
                    .newer,
                    "The store \(path) was made by a newer Bellhop (schema \(version), this program knows \(newest)): use that version."
                )
            }
            return version == newest ? .current : .older(version)
        }
        if Schema.applicationsBeforeRelease.contains(application) {
            throw StoreError(
                .damaged,
                "The store \(path) was made by a Bellhop from before its first release, which this version cannot read: "
                    + "move the file away, or name another one under `store` in bellhop.yaml.")
        }
        guard application == 0, version == 0, try session.int("SELECT count(*) FROM sqlite_schema") == 0 else {
            throw StoreError(
                .damaged, "The file \(path) is another program's database: name another file under `store` in bellhop.yaml.")
        }
        return .older(0)
    }

    /// Runs all missing migrations in one transaction.
    func migrate(_ session: Session, from version: Int64) throws {
        try session.run(SQL.begin)
        do {
            for migration in migrations[Int(version)...] { try session.database.execute(migration) }
            try session.database.execute(
                "PRAGMA application_id = \(Schema.application); PRAGMA user_version = \(migrations.count)")
            try session.run(SQL.commit)
        } catch {
            if session.database.isInTransaction { try session.run(SQL.rollback) }
            throw error
        }
    }

    /// Copies the whole database to a file beside it, with the version in its name. Replaces an earlier copy of that version.
    func copy(_ database: Database, at path: String, version: Int64) throws {
        let target = "\(path).schema-\(version)"
        try StoreFile.prepare(target)
        try StoreFile.makePrivate(target)
        try database.copy(to: Database(path: target, .writing))
        try StoreFile.syncFolder(of: target)
    }
}

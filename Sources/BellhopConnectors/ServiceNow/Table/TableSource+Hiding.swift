import BellhopCore

extension TableSource {
    /// Decides whether to believe an empty list when the server counts rows. Access rules hide rows that are still counted, but
    /// an answer that lost its rows looks the same.
    ///
    /// While tasks are known, one of their own records must confirm that it left, and why. A hidden first list is an error until
    /// it has persisted for a while; after that nothing depends on it.
    /// - Returns: whether access rules hide all rows, as far as can be told.
    func checkHiding(_ rows: TableWalk.Rows, _ walk: Walk, _ lastPoll: LastPoll) async throws(Failure) -> Bool {
        guard walk.isWhole, !rows.isSame, rows.hidesAll else {
            if !rows.isSame { state.showsRows() }
            return false
        }
        if lastPoll.known.isEmpty {
            let since = state.hidesRows(at: connection.clock.now)
            guard lastPoll.cursor != nil || connection.clock.now - since >= StormGuard.patience else { throw hiding(rows) }
            return true
        }
        let some = Array(lastPoll.known.prefix(Self.batch).map(\.key))
        guard let found = try await self.rows(of: some, filter: .all, paths: ["sys_id"]), !found.isEmpty else {
            throw hiding(rows)
        }
        guard try await self.rows(of: Array(found.keys), filter: columns.query, paths: ["sys_id"])?.isEmpty == true else {
            throw hiding(rows)
        }
        return true
    }

    private func hiding(_ rows: TableWalk.Rows) -> Failure {
        Failure(
            .badAnswer, .retry(after: nil),
            "\(connection.base.place) \(Self.counted(rows)) of \(settings.table) for source \(name) and shows none of them (X-Total-Count), so "
                + "the answer is discarded. If this persists, access rules hide them from the account.")
    }

    func hidingNotice(_ rows: TableWalk.Rows) -> String {
        "Source \(name): the server \(Self.counted(rows)) that the query asks for and shows none of them: access rules hide them from the account."
    }

    private static func counted(_ rows: TableWalk.Rows) -> String {
        "counts \(rows.counted ?? 0) row\(rows.counted == 1 ? "" : "s")"
    }
}

extension TableWalk.Rows {
    /// Whether the server counted rows but its pages had none.
    fileprivate var hidesAll: Bool { (counted ?? 0) > 0 && movedOn == 0 && nameless.isEmpty && listing.entries.isEmpty }
}

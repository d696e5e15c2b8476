public import BellhopCore

extension Inquirer {
    /// How often and when last a rule stopped or waited since a moment, by the reason. Only as many records of each reason count as are kept.
    public func verdicts(
        of rule: String, since: Timestamp
    ) async throws(StoreError) -> [(verdict: DecisionRecord.Verdict, count: Int, last: Timestamp)] {
        let most = DecisionRecord.most * DecisionRecord.Verdict.allCases.count
        let verdicts = DecisionRecord.Verdict.allCases.filter { !$0.isOfEarlier }
        let records = try await store.decisions(DecisionQuery(rule: rule, verdicts: verdicts, since: since, limit: most))
        return Dictionary(grouping: records, by: \.verdict).map { verdict, records in
            (verdict, records.count, records.map(\.at).max() ?? since)
        }.sorted { $0.count > $1.count }
    }
}

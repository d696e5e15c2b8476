/// Display names of task tables, for answers without display values.
enum ClassNames {
    private static let labels = [
        "sc_task": "Catalog Task", "sc_req_item": "Requested Item", "sc_request": "Request", "kb_submission": "KB Submission",
        "hr_case": "HR Case", "sn_customerservice_case": "Case", "std_change_proposal": "Standard Change Proposal",
    ]

    /// `Change Request` for `change_request`.
    static func label(of table: String) -> String {
        labels[table]
            ?? table.split(separator: "_").map { $0.prefix(1).uppercased() + $0.dropFirst() }.joined(separator: " ")
    }
}

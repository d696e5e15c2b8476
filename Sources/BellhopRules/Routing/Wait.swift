import BellhopCore

/// A wait of a rule for one key, as it is stored.
struct Wait {
    var began: Gathered
    var due: Timestamp
    /// Whether the rule ran; it may wait again once the condition did not hold.
    var hasRun = false
    /// The place on the bus of the last event before an absence that begins without `after`.
    var after: Int64?

    /// Its beginning, as the occasion of its run names it.
    var beginning: Occasion.Beginning? { began.beginning ?? after.map(Occasion.Beginning.silence) }

    init(began: Gathered, due: Timestamp) { (self.began, self.due) = (began, due) }

    init?(_ json: JSON) {
        guard let due = json["due"]?.asInt, let began = Gathered(name: json["run"]?.asString ?? "", json: json) else {
            return nil
        }
        self.began = began
        self.due = Timestamp(microseconds: due)
        hasRun = json["ran"] == true
        after = json["after"]?.asInt
    }

    var json: JSON {
        guard case .object(var members) = began.json else { return began.json }
        members["run"] = .string(began.name)
        members["due"] = .int(due.microseconds)
        // Stored also if false, so that the row keeps its size when the rule runs.
        members["ran"] = .bool(hasRun)
        members["after"] = after.map(JSON.int)
        return .object(members)
    }
}

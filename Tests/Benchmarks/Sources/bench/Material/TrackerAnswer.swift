import BellhopCore

/// The Task Tracker's answer: groups of records, some with escapes, some with umlauts; about 380 bytes each.
enum TrackerAnswer {
    private static let groups = [("Incident", "incident"), ("Catalog Task", "sc_task"), ("Change Request", "change_request")]

    static func body(tasks count: Int, seed: UInt64 = 1) -> [UInt8] {
        var random = SeededRandom(seed: seed)
        var body: [UInt8] = []
        body.reserveCapacity(count * 400 + 100)
        body += Array("{\"result\":{".utf8)
        for (place, group) in groups.enumerated() {
            body += Array("\(place == 0 ? "" : ",")\"\(group.0)\":[".utf8)
            let share = count / 3 + (place < count % 3 ? 1 : 0)
            for number in 0..<share {
                if number > 0 { body.append(UInt8(ascii: ",")) }
                append(number, table: group.1, sysID: random.hex(), to: &body)
            }
            body.append(UInt8(ascii: "]"))
        }
        // The space at the end can be changed: the same tasks in a different body.
        body += Array("}} ".utf8)
        return body
    }

    static func append(_ number: Int, table: String, sysID: String, to body: inout [UInt8]) {
        var title = "The printer on floor \(number % 37) prints nothing but blank pages since the last update"
        if number % 20 == 0 { title += " \\\"again\\\" \\n" }
        if number % 7 == 0 { title += " für Müller" }
        let record = """
            {"number":"INC\(1_000_000 + number)","short_desc":"\(title)","sys_id":"\(sysID)",\
            "link":"https://acme.service-now.com/api/now/v2/table/\(table)/\(sysID)",\
            "snowui":"https://acme.service-now.com/\(table).do?sys_id=\(sysID)","created":"2016-03-14 18:52:12"}
            """
        body += Array(record.utf8)
    }
}

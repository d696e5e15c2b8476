import BellhopCore

/// The Table API's answer for a whole table, in pages; about 560 bytes per row.
struct TableAnswer: Sendable {
    static let table = "incident"
    static let query = "active=true"
    static let pageSize = 1000

    /// The bodies of the pages, ordered by sys_id.
    let pages: [[UInt8]]
    let count: Int
    /// The page after the row with this sys_id; the first page if nil.
    private let places: [String: Int]

    init(rows count: Int, seed: UInt64 = 3) {
        var random = SeededRandom(seed: seed)
        let ids = (0..<count).map { _ in random.hex() }.sorted()
        var pages: [[UInt8]] = []
        var places = ["": 0]
        for start in stride(from: 0, to: count, by: Self.pageSize) {
            let end = min(start + Self.pageSize, count)
            var body = Array("{\"result\":[".utf8)
            for number in start..<end {
                if number > start { body.append(UInt8(ascii: ",")) }
                body += Array(Self.row(number, sysID: ids[number]).utf8)
            }
            body += Array("]}".utf8)
            pages.append(body)
            places[ids[end - 1]] = pages.count
        }
        self.pages = pages
        self.places = places
        self.count = count
    }

    /// The index of the page after a row; nil if no page ends with that row.
    func page(after sysID: String) -> Int? { places[sysID] }

    /// The number of rows from a page to the end.
    func rows(from page: Int) -> Int { max(0, count - page * Self.pageSize) }

    var bytes: Int { pages.reduce(0) { $0 + $1.count } }

    private static func row(_ number: Int, sysID: String) -> String {
        var title = "The printer on floor \(number % 37) prints nothing but blank pages since the last update"
        if number % 20 == 0 { title += " \\\"again\\\" \\n" }
        if number % 7 == 0 { title += " für Müller" }
        let group = String(repeating: "9a", count: 16)
        return """
            {"sys_id":"\(sysID)","number":"INC\(1_000_000 + number)","short_description":"\(title)",\
            "sys_class_name":"incident","active":"true","assigned_to":"\(number % 3 == 0 ? "" : group)",\
            "priority":"\(number % 4 + 1)","urgency":"2","impact":"2","state":"\(number % 3 + 1)",\
            "assignment_group":"\(group)","opened_by":"\(group)","opened_at":"2026-01-05 08:52:12","due_date":"",\
            "sys_created_on":"2026-01-05 08:52:12","sys_updated_on":"2026-01-05 08:59:\(10 + number % 50)",\
            "sys_updated_by":"beth.anglin","sys_mod_count":"\(number % 9)"}
            """
    }
}

import BellhopCore
import Testing

@testable import BellhopConnectors

@Suite struct ItemReadingTests {
    private let settings = Settings([
        "items": "data.orders", "id": "meta.id", "number": "no", "title": "name", "type": "kind",
        "url": "https://shop.example.com/orders/{id}?s={state.code}",
        "fields": [
            "status", ["total": ["path": "sum.value", "type": "double"], "due": ["type": "timestamp"], "first": "lines[0].sku"],
            ["count": ["path": "n", "type": "int"], "open": ["type": "bool"]],
        ],
    ])

    private func reading(_ settings: Settings) throws(ConnectorError) -> ItemReading {
        try ItemReading(settings, source: "orders", className: "order")
    }

    private let body = """
        {"data": {"orders": [
            {"meta": {"id": 7}, "no": "O-7", "name": "Lamp", "kind": "Order", "state": {"code": "a b&c"}, "status": "open",
             "sum": {"value": 12}, "due": "/Date(1475798400000-0400)/", "lines": [{"sku": "L1"}], "n": "3", "open": "true"},
            {"meta": {"id": "x/1"}, "status": null, "n": "many"}]}}
        """

    @Test(arguments: [
        (#"[{"id": 1}, {"key": 2, "name": "x"}]"#, "has no 'id'; it has key, name."),
        (#"{"total": 2, "issues": [], "users": []}"#, "does not have an array at byte 0; `items` can name issues, users."),
        (#"{"total": 2}"#, "does not have an array at byte 0."),
    ])
    func `an answer without what the settings name is reported with the names that it has`(_ body: String, _ end: String) throws {
        let reading = try reading(Settings(["id": "id"]))
        let failure = #expect(throws: Failure.self) { _ = try reading.listing(Array(body.utf8), from: "shop") }
        #expect(failure?.message.hasSuffix(end) == true, "\(failure?.message ?? "none")")
    }

    @Test func `an unknown field is reported with a suggestion once all items are read`() throws {
        let reading = try reading(
            Settings([
                "id": "id",
                "fields": [["state": "stat"], ["sum": ["path": "total.valeu", "type": "double"]], ["code": "a.b"], "open"],
            ]))
        let body = #"[{"id": 1, "state": "x", "total": {"value": 1}, "a": null}, {"id": 2, "open": true}]"#
        let listing = try reading.listing(Array(body.utf8), from: "shop")
        let all = reading.details(of: ["1", "2"], in: listing, for: "orders")
        #expect(
            all.notice == "No record of source orders has the fields `state` (`stat`) (did you mean `state`?), "
                + "`sum` (`total.valeu`) (did you mean `total.value`?), so they stay empty.")
        #expect(reading.details(of: ["1"], in: listing, for: "orders").notice == nil, "one item is not all")
    }

    @Test func `an unchanged answer counts as changed if other fields, types or addresses are read from it`() throws {
        let body = Array(#"[{"id": 1, "a": "2"}]"#.utf8)
        let settings: [JSON.Object] = [
            ["id": "id"], ["id": "id", "fields": ["a"]], ["id": "id", "fields": [["b": "a"]]],
            ["id": "id", "fields": [["a": ["type": "int"]]]], ["id": "id", "url": "https://shop.example.com/{id}"],
        ]
        var (answers, records): (Set<Fingerprint>, Set<Fingerprint>) = ([], [])
        for settings in settings {
            let reading = try reading(Settings(settings))
            let listing = try reading.listing(body, from: "shop")
            answers.insert(reading.fingerprint(of: listing))
            records.formUnion(listing.entries.map(\.fingerprint))
        }
        #expect(answers.count == settings.count && records.count == settings.count)
    }

    @Test func `items become tasks by the paths in the settings`() throws {
        let reading = try reading(settings)
        let listing = try reading.listing(Array(body.utf8), from: "shop")
        let details = reading.details(of: ["7", "x/1", "gone"], in: listing, for: "orders")
        let lamp = try #require(details.snapshots["7"])
        #expect(lamp.number == "O-7")
        #expect(lamp.title == "Lamp")
        #expect(lamp.type == "Order")
        #expect(lamp.className == "order")
        #expect(lamp.url == "https://shop.example.com/orders/7?s=a%20b%26c")
        #expect(
            lamp.fields == [
                "status": "open", "total": .double(12), "due": "2016-10-07T00:00:00.000000Z", "first": "L1", "count": 3,
                "open": true,
            ])
        let bare = try #require(details.snapshots["x/1"])
        #expect(bare.number == "x/1")
        #expect(bare.url == "https://shop.example.com/orders/x%2F1?s=")
        #expect(bare.fields == ["status": "", "total": .null, "due": .null, "first": "", "count": .null, "open": .null])
        #expect(details.departures == ["gone": .unknown])
        #expect(reading.schema["total"]?.type == .double)
    }

    @Test(arguments: [
        #"{"data": {}}"#, #"{"data": {"orders": {}}}"#, #"{"data": {"orders": {"a": []}}}"#, #"{"data": {"orders": null}}"#,
        #"{"data": {"orders": [{"no": 1}]}}"#, #"{"data": {"orders": [{"meta": {"id": 1}}, {"meta": {"id": 1}}]}}"#,
        #"{"data": {"orders": [{"meta": {"id": ""}}]}}"#, #"{"data": {"orders": [1]}}"#, #"{"data": {"orders": "#, "<html>", "",
    ])
    func `an answer that is not a complete list with distinct ids is an error`(_ body: String) throws {
        let reading = try reading(settings)
        let failure = #expect(throws: Failure.self) { _ = try reading.listing(Array(body.utf8), from: "shop (h:1)") }
        #expect(failure?.reason == .badAnswer)
        #expect(failure?.message.contains("shop (h:1)") == true)
    }

    @Test func `an item on two pages is an error`() throws {
        let reading = try reading(Settings(["id": "id"]))
        let one = try reading.listing(Array(#"[{"id": 1}, {"id": 2}]"#.utf8), from: "shop")
        let two = try reading.listing(Array(#"[{"id": 2}]"#.utf8), from: "shop")
        let three = try reading.listing(Array(#"[{"id": 3}]"#.utf8), from: "shop")
        #expect(throws: Failure.self) { _ = try reading.listing(pages: [one, two], from: "shop") }
        #expect(try reading.listing(pages: [one, three], from: "shop").entries.map(\.key) == ["1", "2", "3"])
    }

    @Test func `times are read in the forms that servers use`() {
        let moment = "2026-01-05T09:00:00.000000Z"
        let forms: [JSON] = [
            "2026-01-05T09:00:00Z", "2026-01-05T10:00:00+01:00", "2026-01-05 09:00:00", "2026-01-05T09:00:00", 1_767_603_600,
            1_767_603_600_000, .double(1_767_603_600.0), "1767603600", "/Date(1767603600000)/", "/Date(1767603600000+0100)/",
            "Mon, 05 Jan 2026 09:00:00 GMT", "2026-01-05 09:00:00.000000000", "2026-01-05 09:00:00 UTC", "2026-01-05 09:00:00Z",
            "2026-01-05 10:00:00 +0100", "2026-01-05 10:00:00+01", "2026-01-05T10:00:00.000+0100", "2026-01-05T10:00+01:00",
            "2026-01-05T09:00Z", "2026-01-05 09:00", "2026-01-05T09:00:00,000Z", 1_767_603_600_000_000,
            1_767_603_600_000_000_000, .double(1_767_603_600_000_000), "1767603600000000000",
            "20260105T090000Z", "20260105T0900Z", "20260105T100000+0100", "20260105090000", 20_260_105_090_000,
            "20260105090000.0",
        ]
        for form in forms { #expect(ItemValue.typed(form, .timestamp) == .string(moment), "\(form)") }
        for form: JSON in [
            "soon", "/Date(1)", "/Date(12x)/", "/Date(1+01)/", "/Date()/", "", true, [], .double(1e300),
            "2026-01-05 09:00:00 CET", "2026-01-05T09:00:00+1", "2026-01-05 09:00 - 10:00", "2026-01-05T25:00",
            "20260105X090000", "20260105T09", "20260105T250000Z",
        ] {
            #expect(ItemValue.typed(form, .timestamp) == .null, "\(form)")
        }
        for form: JSON in ["2026-01-05", "20260105", 20_260_105] {
            #expect(ItemValue.typed(form, .timestamp) == "2026-01-05T00:00:00.000000Z", "\(form)")
        }
        // Not a date, so a number.
        #expect(ItemValue.typed(.string("20261305"), .timestamp) == "1970-08-23T12:08:25.000000Z")
    }

    @Test func `a time in WCF's format is read from its milliseconds, before 1970 too`() {
        for micros: Int64 in [0, 1_475_798_400_000_000, -1_000, -1_475_798_400_000_000] {
            let time = Timestamp(microseconds: micros)
            #expect(Timestamp(wcf: time.wcf) == time)
        }
        for number: Int64 in [.min, .max, -9_223_372_036_854_775, 9_223_372_036_854_775, -1, 999, -999, -1000] {
            let time = Timestamp(microseconds: number)
            #expect(Timestamp(wcf: time.wcf).map { $0 <= time } != false)
            _ = ItemValue.time(.int(number))?.wcf
            _ = ItemValue.time(.string("\(number)"))?.wcf
        }
        #expect(Timestamp(microseconds: 1_999).wcf == "/Date(1)/")
        #expect(Timestamp(microseconds: -1).wcf == "/Date(-1)/")
    }

    @Test(
        arguments: [
            (["id": "a[0]"], "id"), (["id": ""], "id"), (["id": "a..b"], "id"), (["id": "id", "items": "a..b"], "items"),
            (["id": "id", "fields": ["a", "a"]], "fields"), (["id": "id", "fields": ["a.b"]], "fields"),
            (["id": "id", "fields": ["a": ["path": "b["]]], "fields"), (["id": "id", "url": "/orders/{id}"], "url"),
            (["id": "id", "url": "https://{id}.example.com/"], "url"),
            (["id": "id", "url": "https://shop.example.com/{id"], "url"),
            (["id": "id", "url": "https://shop.example.com{id}/x"], "url"),
        ] as [(JSON.Object, String)])
    func `an invalid path is reported with the setting it is in`(_ values: JSON.Object, _ setting: String) {
        let error = #expect(throws: ConnectorError.self) { _ = try reading(Settings(values)) }
        #expect(error?.setting == setting)
    }

    @Test func `a source's memory depends on the items read, not on the fields`() throws {
        var other = settings
        other.values["fields"] = ["status"]
        #expect(try reading(settings).canonical == reading(other).canonical)
        for (name, value) in ["items": "data", "id": "id", "number": "n", "title": "t"] {
            var other = settings
            other.values[name] = .string(value)
            #expect(try reading(settings).canonical != reading(other).canonical)
        }
    }
}

import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopConnectors

@Suite struct FilterTests {
    private func compiled(_ json: JSON) throws -> String { try Filter(json).query.text }

    private func complaints(_ json: JSON) -> [SettingComplaint] {
        do throws(SettingComplaints) {
            _ = try Filter(json, at: [])
            return []
        } catch { return error.all }
    }

    // MARK: Examples from the documentation of FetchConfiguration

    @Test func `an encoded query is used unchanged`() throws {
        let text = "active=true^short_descriptionLIKEbroken"
        #expect(try EncodedQuery(parsing: text).text == text)
        #expect(try compiled(["active": true, "short_description": ["contains": "broken"]]) == text)
    }

    @Test func `criteria are alternatives, their conditions all apply, and compounds are alternatives inside`() throws {
        #expect(
            try compiled([
                "any": [
                    ["active": true, "any": [["assigned_to": ["is_empty": true]], ["assigned_to": "Abel Tuter"]]],
                    ["any": [["escalation": 2], ["escalation": 3]]],
                ]
            ]) == "active=true^assigned_toISEMPTY^ORassigned_to=Abel Tuter^NQescalation=2^ORescalation=3")
    }

    @Test func `keywords, conditions and an order are compiled`() throws {
        #expect(
            try compiled(["keywords": "iOS 13 | iOS 14", "u_a": true, "u_b": false, "sort": ["u_a"]])
                == "123TEXTQUERY321=iOS 13 | iOS 14^u_a=true^u_b=false^EQ^ORDERBYu_a")
    }

    @Test func `a condition on the start of today is compiled`() throws {
        #expect(
            try compiled(["active": true, "sla_due": ["at_or_after": ["days_ago": 0]]])
                == "active=true^sla_due>=javascript:gs.daysAgoStart(0)")
    }

    @Test func `three criteria are compiled to three groups`() throws {
        #expect(try compiled(["any": [["a": 1], ["b": 2, "c": 3], ["d": [4, 5]]]]) == "a=1^NQb=2^c=3^NQdIN4,5")
    }

    @Test func `a keyword and a condition on a change are compiled`() throws {
        #expect(
            try compiled(["keywords": "mail", "state": ["changes_from": "4"]]) == "123TEXTQUERY321=mail^stateCHANGESFROM4^EQ")
    }

    @Test func `a limit, a category and several orders are compiled`() throws {
        let filter = try Filter([
            "active": true, "sort": ["priority", ["opened_at": "desc"]], "limit": 20, "query_category": "report",
        ])
        #expect(filter.query.text == "active=true^ORDERBYpriority^ORDERBYDESCopened_at")
        #expect(filter.limit == 20)
        #expect(filter.category == "report")
        #expect(try compiled(["a": 1, "sort": ["b": "asc", "c": "desc"]]) == "a=1^ORDERBYb^ORDERBYDESCc")
    }

    @Test(arguments: [
        // A row of the reference for each type of condition in FetchConfiguration.
        (#"{"active": {"is": true}}"#, "active=true"), (#"{"active": {"is_not": true}}"#, "active!=true^ORactiveISEMPTY"),
        (#"{"sla_due": {"on": "today"}}"#, "sla_dueONToday@javascript:gs.daysAgoStart(0)@javascript:gs.daysAgoEnd(0)"),
        (#"{"sla_due": {"at_or_before": {"months_ago": 1}}}"#, "sla_due<=javascript:gs.monthsAgoEnd(1)"),
        (#"{"email": {"ends_with": "@example.com"}}"#, "emailENDSWITH@example.com"),
        (#"{"priority": {"is_one_of": [1, 2]}}"#, "priorityIN1,2"), (#"{"impact": {"between": [1, 3]}}"#, "impactBETWEEN1@3"),
        (#"{"assigned_to": "me"}"#, "assigned_to=javascript:gs.getUserID()"),
        (#"{"caller_id": {"same_as": "opened_by"}}"#, "caller_idSAMEASopened_by"),
        (#"{"short_description": {"starts_with": "Mail"}}"#, "short_descriptionSTARTSWITHMail"),
        (#"{"close_code": {"is_not_one_of": ["Solved", "Closed"]}}"#, "close_codeNOT INSolved,Closed^ORclose_codeISEMPTY"),
    ])
    func `conditions of each type are compiled to their encoded query`(_ json: String, _ expected: String) throws {
        #expect(try compiled(try JSON.parse(json)) == expected)
    }

    // MARK: Operators

    @Test(arguments: [
        (#"{"a": {"is": {"text": "me"}}}"#, "a=me"),
        (#"{"sys_created_by": "me"}"#, "sys_created_by=javascript:gs.getUserName()"),
        (
            #"{"assigned_to.user_name": {"is_not": "me"}}"#,
            "assigned_to.user_name!=javascript:gs.getUserName()^ORassigned_to.user_nameISEMPTY"
        ),
        (#"{"g": {"is_one_of": "my_groups"}}"#, "gDYNAMICd6435e965f510100a9ad2572f2b47744"),
        (#"{"g": "my_groups"}"#, "gDYNAMICd6435e965f510100a9ad2572f2b47744"),
        (#"{"g": {"is": {"text": "my_groups"}}}"#, "g=my_groups"),
        (#"{"a": {"dynamic": "me"}}"#, "aDYNAMIC90d1921e5f510100a9ad2572f2b477fe"),
        (#"{"a": {"is_empty": false}}"#, "aISNOTEMPTY"), (#"{"a": {"is_not_empty": false}}"#, "aISEMPTY"),
        (#"{"a": 1.5}"#, "a=1.5"),
        (#"{"a": {"at_least": 1, "less_than": 5}}"#, "a>=1^a<5"), (#"{"a": {"after": {"field": "b"}}}"#, "aGT_FIELDb"),
        (#"{"a": {"at_most": {"field": "b.c"}}}"#, "aLT_OR_EQUALS_FIELDb.c"),
        (#"{"a": {"is_not": {"field": "b"}}}"#, "aNSAMEASb"),
        (#"{"a": {"before": "2026-01-05T09:00:00.9+01:00"}}"#, "a<2026-01-05 08:00:00"),
        (#"{"a": "2026-01-05T09:00:00Z"}"#, "a=2026-01-05 09:00:00"),
        (#"{"a": ["2026-01-05T09:00:00+01:00", "x"]}"#, "aIN2026-01-05 08:00:00,x"),
        (#"{"a": {"contains": "2026-01-05T09:00:00Z"}}"#, "aLIKE2026-01-05T09:00:00Z"),
        (#"{"a": {"after": "2026-01-05 09:00:00"}}"#, "a>2026-01-05 09:00:00"),
        (#"{"a": {"after": "2026-01-05"}}"#, "a>2026-01-05"),
        (#"{"a": {"after": "yesterday"}}"#, "a>javascript:gs.daysAgoEnd(1)"),
        (#"{"a": {"before": "tomorrow"}}"#, "a<javascript:gs.daysAgoStart(-1)"),
        (#"{"a": {"before": {"days_ahead": 3}}}"#, "a<javascript:gs.daysAgoStart(-3)"),
        (#"{"a": {"after": {"hours_ago": 4, "at": "now"}}}"#, "a>javascript:gs.hoursAgo(4)"),
        (#"{"a": {"after": {"years_ago": 1}}}"#, "a>javascript:gs.yearsAgo(1)"),
        (#"{"a": {"at_or_after": {"minutes_ago": 30}}}"#, "a>=javascript:gs.minutesAgoStart(30)"),
        (#"{"a": {"at_or_after": {"quarters_ago": 1, "at": "end"}}}"#, "a>=javascript:gs.quartersAgoEnd(1)"),
        (
            #"{"a": {"between": [{"days_ago": 7}, "2026-01-05T09:00:00Z"]}}"#,
            "aBETWEENjavascript:gs.daysAgoStart(7)@2026-01-05 09:00:00"
        ),
        (
            #"{"a": {"between": [{"days_ago": 7}, {"days_ago": 1}]}}"#,
            "aBETWEENjavascript:gs.daysAgoStart(7)@javascript:gs.daysAgoEnd(1)"
        ),
        (
            #"{"a": {"on": "2026-01-05"}}"#,
            "aON2026-01-05@javascript:gs.dateGenerate('2026-01-05','start')@javascript:gs.dateGenerate('2026-01-05','end')"
        ),
        (
            #"{"a": {"not_on": {"months_ago": 0}}}"#,
            "aNOTONThis month@javascript:gs.monthsAgoStart(0)@javascript:gs.monthsAgoEnd(0)^ORaISEMPTY"
        ),
        (#"{"a": {"does_not_contain": "x"}}"#, "aNOT LIKEx^ORaISEMPTY"),
        (#"{"a": {"is_empty_string": true}}"#, "aEMPTYSTRING"),
        (#"{"c": {"instance_of": "task"}}"#, "cINSTANCEOFtask"), (#"{"a": {"changes": true}}"#, "aVALCHANGES"),
        (#"{"a": {"changes_to": 6}}"#, "aCHANGESTO6"),
        (#"{"active": true, "any": [{"a": 1}, {"b": 2, "c": 3}]}"#, "active=true^a=1^ORb=2^a=1^ORc=3"),
        (#"{"all": [{"any": [{"a": 1}, {"b": 2}]}, {"any": [{"c": 3}, {"d": 4}]}]}"#, "a=1^ORb=2^c=3^ORd=4"),
        (#"{"any": [{"a": 1}, {"any": [{"b": 2}, {"c": 3}]}]}"#, "a=1^NQb=2^ORc=3"),
        (#"{"keywords": "a^NQb"}"#, "123TEXTQUERY321=a^^NQb^EQ"),
        (#"{"any": [{"a": 1}, {"b": 2}], "keywords": "k"}"#, "123TEXTQUERY321=k^a=1^NQ123TEXTQUERY321=k^b=2^EQ"),
    ])
    func `a condition is compiled to its encoded query`(_ json: String, _ expected: String) throws {
        let text = try compiled(try JSON.parse(json))
        #expect(text == expected)
        #expect(try EncodedQuery(parsing: text).text == text)
    }

    @Test(arguments: FilterOperator.allCases)
    func `every operator's example in the reference compiles`(_ how: FilterOperator) throws {
        let (_, field, example) = how.reference
        let text = try compiled([field: [how.rawValue: example]])
        #expect(text.hasPrefix(field + how.encoded.rawValue))
        #expect(try EncodedQuery(parsing: text).text == text)
    }

    // MARK: Invalid filters

    @Test func `a value can be neither another condition nor a script`() throws {
        #expect(try compiled(["a": "x^ORb=1^NQc=2"]) == "a=x^^ORb=1^^NQc=2")
        #expect(
            try EncodedQuery(parsing: try compiled(["a": "x^NQactive=true^"])).conditions == [
                .init("a", .equal, "x^NQactive=true^")
            ])
        for value in ["javascript:gs.x()", " JavaScript:x"] as [JSON] {
            for condition in [
                value, ["contains": value], [value], ["is": ["text": value]], ["between": [1, value]], ["after": value],
            ] as [JSON] {
                #expect(complaints(["a": condition]).map(\.code) == ["script-value"], "\(condition)")
            }
        }
    }

    @Test func `every value is equal after writing it into a query and reading it`() throws {
        var random = SeededRandom(seed: 9)
        let pieces = ["^", "^^", "^OR", "^NQ", "=", ",", "@", "EQ", "ORDERBY", " ", "a", "é", "\n", "ISEMPTY"]
        for _ in 0..<5000 {
            let value =
                "v" + (0..<Int.random(in: 0...6, using: &random)).map { _ in pieces.randomElement(using: &random)! }.joined()
            let query = try Filter(["a": .string(value), "b": 1]).query
            #expect(try EncodedQuery(parsing: query.text) == query)
            #expect(query.conditions == [.init("a", .equal, value), .init("b", .equal, "1")])
        }
    }

    @Test(
        arguments: [
            (#"{}"#, "a filter without a condition would match every row", ""),
            (#"{"sort": ["a"]}"#, "a filter without a condition would match every row", ""),
            (#"[1]"#, "a filter must be a mapping of conditions, not a list", ""),
            (#"{"any": []}"#, "`any` must be a list of conditions", "any"),
            (#"{"any": [{"a": 1}, {}]}"#, "these conditions are empty, so every row would match", "any/1"),
            (#"{"any": [{"a": 1}, "b"]}"#, "conditions must be a mapping, not a text", "any/1"),
            (#"{"any": [{"a": 1, "limit": 3}]}"#, "`limit` belongs to the whole filter", "any/0/limit"),
            (#"{"a": {"startswith": "x"}}"#, "there is no operator `startswith`", "a/startswith"),
            (#"{"a": {}}"#, "`a` has no value to compare with", "a"),
            (#"{"a": null}"#, "this condition has no value", "a"),
            (#"{"a": ""}"#, "an empty text is not a value to compare with", "a"),
            (#"{"a": "NULL"}"#, "the server takes NULL for an empty field", "a"),
            (#"{"Active": true}"#, "`Active` is not a field name", "Active"),
            (#"{"a..b": 1}"#, "`a..b` is not a field name", "a..b"),
            (
                #"{"a": ["x,y", 1]}"#, "the server separates list values by commas, so no value can contain one",
                "a/0"
            ),
            (#"{"a": ["me", 1]}"#, "`me` is not allowed in a list", "a/0"),
            (#"{"a": []}"#, "`is_one_of` takes a list", "a"),
            (#"{"a": {"between": [1]}}"#, "`between` takes two values", "a/between"),
            (
                #"{"a": {"between": ["x@y", "z"]}}"#, "the server separates the two values by `@`, so neither can contain one",
                "a/between/0"
            ),
            (#"{"a": {"before": "soon"}}"#, "this is not a time", "a/before"),
            (#"{"a": {"before": 3}}"#, "this is not a time", "a/before"),
            (#"{"a": {"on": "2026-01-05T09:00:00Z"}}"#, "this is not a day", "a/on"),
            (#"{"a": {"on": {"years_ago": 1}}}"#, "this is not a day", "a/on"),
            (
                #"{"a": {"after": {"day_ago": 1}}}"#, "`day_ago` is not a way to write a value",
                "a/after/day_ago"
            ),
            (
                #"{"a": {"after": {"days_ago": -1}}}"#, "`days_ago` is a number from 0 to 100000",
                "a/after/days_ago"
            ),
            (
                #"{"a": {"after": {"days_ago": 1, "at": "noon"}}}"#, "`at` is `start`, `end` or `now`",
                "a/after/at"
            ),
            (
                #"{"a": {"contains": {"field": "b"}}}"#, "`field` is not a way to write a value",
                "a/contains/field"
            ),
            (#"{"a": {"after": {"field": "B"}}}"#, "this is not a field name", "a/after/field"),
            (#"{"a": {"is_empty": 1}}"#, "`is_empty` is `true` or `false`", "a/is_empty"),
            (#"{"a": {"dynamic": "x"}}"#, "`dynamic` takes a sys_id, 32 hexadecimal digits", "a/dynamic"),
            (#"{"a": 1, "limit": 0}"#, "`limit` is a number from 1 to 10000", "limit"),
            (#"{"a": 1, "sort": {"b": "up"}}"#, "an order is `asc` or `desc`", "sort/b"),
            (#"{"a": 1, "sort": [3]}"#, "`sort` must be a list of fields", "sort/0"),
            (#"{"keywords": " "}"#, "`keywords` must be a text", "keywords"),
        ] as [(String, String, String)])
    func `a mistake is reported at its place`(_ json: String, _ message: String, _ path: String) throws {
        let first = complaints(try JSON.parse(json)).first
        #expect(first?.message == message)
        let steps = first?.path.map { step in
            switch step {
            case .key(let key): key
            case .index(let index): String(index)
            }
        }
        #expect(steps?.joined(separator: "/") == path)
    }

    @Test func `a misspelling is reported with a suggestion, and all mistakes are reported at once`() {
        let all = complaints(["a": ["startswith": "x"], "B": 1, "c": ["after": ["day_ago": 1]]])
        #expect(all.map(\.help) == ["did you mean `starts_with`?", "did you mean `b`?", "did you mean `days_ago`?"])
    }

    @Test func `alternatives that multiply too much are refused`() {
        let many = JSON.array((0..<3).map { _ in .object(JSON.Object((0..<6).map { ("f\($0)", 1) })) })
        #expect(complaints(["x": 1, "any": many]).map(\.code) == ["too-complex"])
        #expect(complaints(["any": many]).isEmpty)
    }
}

import BellhopCore
import BellhopTesting
import Testing

@testable import BellhopConnectors

@Suite struct EncodedQueryTests {
    @Test(arguments: [
        "active=true", "active=true^priorityIN1,2", "a=1^b=2^ORb=3^NQc=4^ORDERBYd^ORDERBYDESCe", "a=1^EQ", "a=1^EQ^ORDERBYb",
        "short_descriptionLIKEa^^b^active=true", "titleNOT LIKEx", "titleNOTLIKEx", "titleENDSWITHx", "title%x", "title=^^",
        "123TEXTQUERY321=iOS 13 | iOS 14^a=true", "123TEXTQUERY321=mail^ORnumber=INC1",
        "active=true^RLQUERYtask_sla.task,>=1^stage=in_progress^ORstage=paused^NQa=1^ENDRLQUERY^priority=1",
        "JOINsys_id=task_sla.task!stage=paused^active=true", "assigned_to=javascript:gs.getUserID()", "assigned_toDYNAMIC90d1",
        "aISEMPTY^bISNOTEMPTY^cANYTHING^dEMPTYSTRING", "numberBETWEENa@b", "a.b.cSAMEASd.e", "aNSAMEASb", "aGT_FIELDb",
        "aGT_OR_EQUALS_FIELDb", "aLT_FIELDb", "aLT_OR_EQUALS_FIELDb", "opened_atMORETHANdue_date@day@after@3",
        "aLESSTHANb@hour@before@1",
        "aIN_HIERARCHYx", "sys_class_nameINSTANCEOFtask", "stateVALCHANGES", "stateCHANGESFROM4", "stateCHANGESTO6",
        "opened_atONToday@javascript:gs.daysAgoStart(0)@javascript:gs.daysAgoEnd(0)", "opened_atNOTONToday@x@y",
        "opened_atDATEPARTMonday@x", "opened_atRELATIVEGT@hour@ago@1", "opened_atRELATIVELE@hour@ago@1", "aIN1,2,3", "aNOT IN1",
        "a!=b", "a<=1", "a<1", "a>=1", "a>1", "a=ü∀", "a=b=c", "aLIKE=x", "u_2=1",
    ])
    func `a query is equal after reading and writing`(_ text: String) throws {
        #expect(try EncodedQuery(parsing: text).text == text)
    }

    @Test func `an alternative belongs to the condition before it, and NQ begins a new group`() throws {
        let query = try EncodedQuery(parsing: "a=1^b=2^ORb=3^NQc=4^ORDERBYDESCd")
        #expect(
            query
                == EncodedQuery(
                    groups: [
                        .init(terms: [.init(.init("a", .equal, "1")), .init(.init("b", .equal, "2"), .init("b", .equal, "3"))]),
                        .init(terms: [.init(.init("c", .equal, "4"))]),
                    ], order: [.init(field: "d", descending: true)]))
    }

    @Test func `an order between conditions is moved to the end`() throws {
        #expect(try EncodedQuery(parsing: "ORDERBYa^b=1^ORDERBYDESCc^d=2").text == "b=1^d=2^ORDERBYa^ORDERBYDESCc")
    }

    @Test func `an escaped value is one value`() throws {
        let query = try EncodedQuery(parsing: "a=1^^NQb=2^^^c=3")
        #expect(query.conditions == [.init("a", .equal, "1^NQb=2^"), .init("c", .equal, "3")])
        #expect(EncodedQuery(.init("a", .equal, "x^ORb=1")).text == "a=x^^ORb=1")
        // With the accent, the `^` is one character for Swift.
        let accented = EncodedQuery(.init("a", .equal, "x^\u{301}^b"))
        #expect(Array(accented.text.utf8) == Array("a=x^^".utf8) + Array("\u{301}^^b".utf8))
        #expect(try EncodedQuery(parsing: accented.text) == accented)
    }

    @Test func `every field is listed once, those in comparisons included`() throws {
        let query = try EncodedQuery(
            parsing:
                "a=1^ORcaller_id.name=2^NQdueGT_FIELDopened_at^a=3^xMORETHANy@day@after@3^123TEXTQUERY321=k^RLQUERYt.task,>=1^z=1^ENDRLQUERY^ORDERBYb"
        )
        #expect(query.fields == ["a", "caller_id.name", "due", "opened_at", "x", "y", "b"])
    }

    @Test(arguments: [
        ("a=1^b=2^ORb=3^NQc=4^ORDERBYd", "t>=x^t<=y", "a=1^b=2^ORb=3^t>=x^t<=y^NQc=4^t>=x^t<=y"),
        ("a=1^NQb=2", "t>x^NQt=x^sys_id>z", "a=1^t>x^NQa=1^t=x^sys_id>z^NQb=2^t>x^NQb=2^t=x^sys_id>z"),
        ("a=1^RLQUERYt.task,>=1^ENDRLQUERY^EQ", "t>x", "a=1^t>x^RLQUERYt.task,>=1^ENDRLQUERY"),
        ("JOINsys_id=t.task!b=1", "t>x", "t>x^JOINsys_id=t.task!b=1"),
    ])
    func `a condition added to a query is added to every group`(_ text: String, _ further: String, _ expected: String) throws {
        #expect(try EncodedQuery(parsing: text).and(EncodedQuery(parsing: further)).text == expected)
    }

    @Test func `a condition added to the query of all rows is the whole query`() throws {
        let query = try EncodedQuery(parsing: "a=1^ORDERBYb")
        #expect(EncodedQuery.all.and(query).text == "a=1")
        #expect(query.and(.all).text == "a=1")
        #expect(EncodedQuery.all.text.isEmpty)
        #expect(query.or(.all) == .all)
    }

    @Test(arguments: [
        ("", 0..<0, "an empty query would match every row"), (" ", 0..<1, "an empty query would match every row"),
        ("ORDERBYa", 0..<8, "a query without a condition would match every row"),
        ("a=1^", 3..<4, "nothing follows this `^`"), ("^a=1", 0..<1, "nothing precedes this `^`"),
        ("a=1^NQ", 4..<6, "no condition follows this NQ"), ("NQa=1", 0..<0, "a group without a condition would match every row"),
        ("a=1^NQORDERBYb", 6..<14, "a condition begins with the name of a field, in lowercase"),
        ("a=1^OR", 4..<6, "no condition follows this OR"), ("ORa=1", 0..<5, "this OR has no condition before it"),
        ("a=1^ORDERBYb^ORa=2", 13..<18, "this OR follows an order, not a condition"),
        ("a=1^EQ^b=2", 7..<10, "a condition after EQ is ignored"), ("EQ", 0..<2, "no condition precedes this EQ"),
        ("=1", 0..<2, "a condition begins with the name of a field, in lowercase"),
        ("Priority=1", 0..<10, "a condition begins with the name of a field, in lowercase"),
        ("a=1^b=", 4..<6, "no value follows ="), ("aLIKE", 0..<5, "no value follows LIKE"),
        ("a=1^bISEMPTYx", 12..<13, "ISEMPTY takes no value"), ("active", 0..<6, "no operator follows `active`"),
        ("aSTARTWITHx", 1..<11, "there is no known operator after `a`"),
        ("a..b=1", 0..<4, "a field name is missing or invalid"),
        ("a=1^ORDERBYb c", 11..<14, "a field name is missing or invalid"),
        ("aSAMEASB", 7..<8, "a field name is missing or invalid"),
        ("123TEXTQUERY321=", 0..<16, "this search has no words"), ("aANYTHING", 0..<9, "these conditions hold for every row"),
        ("a=1^NQaANYTHING^ORb=2", 4..<21, "these conditions hold for every row"),
        ("a=1^RLQUERYt.task,>=1^b=1", 4..<21, "this RLQUERY has no end"),
        ("a=1^GROUPBYb", 4..<12, "GROUPBY is for lists on the screen"),
        ("ä=1", 0..<4, "a condition begins with the name of a field, in lowercase"),
    ])
    func `a query part that would be dropped or match everything is refused at its place`(
        _ text: String, _ range: Range<Int>, _ message: String
    ) throws {
        let error = #expect(throws: EncodedQueryError.self) { try EncodedQuery(parsing: text) }
        #expect(error?.message == message)
        #expect(error?.range == range)
    }

    @Test func `a misspelled operator is reported with a suggestion`() {
        let error = #expect(throws: EncodedQueryError.self) { try EncodedQuery(parsing: "aSTARTWITHx") }
        #expect(error?.help == "did you mean `STARTSWITH`?")
    }

    @Test func `no text causes a trap, and every accepted text is equal after reading and writing`() {
        var random = SeededRandom(seed: 4)
        let pieces =
            EncodedQuery.Operator.allCases.map(\.rawValue) + [
                "^", "^", "^^", "^OR", "^NQ", "^EQ", "^ORDERBY", "^ORDERBYDESC", "RLQUERY", "^ENDRLQUERY", "JOIN",
                "123TEXTQUERY321=",
                "a", "b.c", "sys_id", ".", "1", "@", ",", "javascript:gs.x()", "é", "\u{1F600}", " ", "A", "\n", "\0",
            ]
        var readable = 0
        for _ in 0..<60_000 {
            var text = random.oneIn(2) ? "b=2" : ""
            for _ in 0..<Int.random(in: 0...7, using: &random) {
                text += random.oneIn(3) ? pieces.randomElement(using: &random)! : "^a=1"
            }
            do throws(EncodedQueryError) {
                let query = try EncodedQuery(parsing: text)
                let again = try EncodedQuery(parsing: query.text)
                #expect(again == query, "\(text)")
                readable += 1
            } catch {
                #expect(error.range.lowerBound >= 0 && error.range.upperBound <= text.utf8.count, "\(text): \(error)")
                #expect(!error.message.isEmpty)
            }
        }
        #expect(readable > 2000)
    }
}

import BellhopCore
import BellhopRules
import Testing
import YAML

@Suite struct SettingsReaderTests {
    private static let settings: [Setting] = [
        Setting("name", .text, required: true, "A name."),
        Setting("every", .either([.duration, .record(pace)]), default: "1m", "How often."),
        Setting("size", .size, "How large."), Setting("rate", .rate, "How fast."), Setting("count", .integer(1...9), "How many."),
        Setting("on", .boolean, "Whether."), Setting("kind", .oneOf(["a", "b"]), "Which."), Setting("url", .address, "Where."),
        Setting("list", .list(.text), "Some."), Setting("map", .map(.integer(0...9)), "Named."),
        Setting("any", .json, "Anything."),
        Setting("auth", .record([Setting("user", .text, "Who."), Setting("password", .secret, "How.")]), "Who we are."),
    ]
    private static let pace = [
        Setting("busy", .duration, required: true, "Then."), Setting("idle", .duration, required: true, "Else."),
    ]

    private static func read(
        _ text: String,
        hook: @escaping SettingsReader<Never>.Hook = { _, text, _ in .text(text) }
    ) throws -> (Settings, String) {
        let root = try #require(try YAML.parse(text).first?.root)
        var reader = SettingsReader<Never>(file: "bellhop.yaml", hook: hook)
        let settings = reader.settings(root, as: settings, of: "source `x`")
        return (settings, reader.diagnostics.all.map { $0.rendered() }.joined(separator: "\n"))
    }

    @Test func `a mistake inside a setting is reported at its place`() throws {
        let text = """
            name: a=1^bSTARTWITHx
            any:
              state: {startswith: x}
              list: [1, 2]
            """
        let root = try #require(try YAML.parse(text).first?.root)
        var reader = SettingsReader<Never>(file: "bellhop.yaml")
        let settings = reader.settings(root, as: Self.settings, of: "source `x`")
        for complaint in [
            SettingComplaint(code: "bad-query", "no operator", at: [.key("name")], range: 5..<15),
            SettingComplaint(
                code: "unknown-operator", "no such word", at: [.key("any"), .key("state"), .key("startswith")], isAboutKey: true),
            SettingComplaint(code: "wrong-value", "not two", at: [.key("any"), .key("list"), .index(1)]),
            SettingComplaint(code: "wrong-value", "all of it", at: [.key("any"), .key("nowhere")]),
        ] { reader.report(complaint, in: root, settings) }
        let places = reader.diagnostics.all.compactMap(\.place).map { "\($0.line):\($0.column)+\($0.length)" }
        #expect(places == ["1:12+10", "3:11+10", "4:13+1", "3:3+22"])
    }

    @Test func `settings are read to typed values`() throws {
        let (settings, messages) = try Self.read(
            """
            name: 0123
            every: {busy: 15s, idle: 2m}
            size: 64MB
            rate: 60/m
            count: 3
            on: true
            kind: b
            url: https://x.example/y?z
            list: [a, 1, true]
            map: {x: 1}
            any: {a: [1, 1.5, null, text]}
            auth: {user: john, password: 12}
            """)
        #expect(messages == "")
        let expected: JSON.Object = [
            "name": "0123", "every": ["busy": 15_000_000, "idle": 120_000_000], "size": 64_000_000,
            "rate": ["count": 60, "microseconds": 60_000_000], "count": 3, "on": true, "kind": "b",
            "url": "https://x.example/y?z", "list": ["a", "1", "true"], "map": ["x": 1], "any": ["a": [1, 1.5, .null, "text"]],
            "auth": ["user": "john", "password": "12"],
        ]
        #expect(settings.values == expected)
        #expect(try Self.read("name: x").0.values == ["name": "x", "every": 60_000_000])
        #expect(try Self.read("{name: x, list: one, size: 1KiB, rate: 5/10s}").0.values["list"] == ["one"])
    }

    @Test func `all mistakes are reported at once, with a remedy`() throws {
        let (_, messages) = try Self.read(
            """
            nam: x
            every: {busy: 15}
            size: 64
            count: 12
            on: yes
            kind: c
            url: ftp://x
            map: [1]
            list: {a: 1}
            """)
        #expect(
            messages == """
                bellhop.yaml:1:1: error: source `x` has no setting `nam` [unknown-key]
                  1 | nam: x
                    | ^~~ did you mean `name`?
                bellhop.yaml:2:15: error: a duration needs a unit [bad-duration]
                  2 | every: {busy: 15}
                    |               ^~ did you mean 15s?
                bellhop.yaml:2:8: error: `every` needs `idle` [missing-key]
                  2 | every: {busy: 15}
                    |        ^~~~~~~~~~ Else.
                bellhop.yaml:3:7: error: `64` is not a size such as `64MB` [wrong-value]
                  3 | size: 64
                    |       ^~ a whole number with B, KB, MB, GB, KiB, MiB or GiB
                bellhop.yaml:4:8: error: `12` is not a whole number from 1 to 9 [wrong-value]
                  4 | count: 12
                    |        ^~
                bellhop.yaml:5:5: error: `yes` is not `true` or `false` [wrong-value]
                  5 | on: yes
                    |     ^~~ write `true`
                bellhop.yaml:6:7: error: `c` is not `a` or `b` [wrong-value]
                  6 | kind: c
                    |       ^
                bellhop.yaml:7:6: error: an address begins with `https://` or `http://` [bad-address]
                  7 | url: ftp://x
                    |      ^~~~~~~
                bellhop.yaml:8:6: error: `map` must be a mapping of names to values, not a list [wrong-type]
                  8 | map: [1]
                    |      ^~~
                bellhop.yaml:9:7: error: `list` must be a text, not a mapping [wrong-type]
                  9 | list: {a: 1}
                    |       ^~~~~~
                """)
    }

    @Test func `a rate of more than a million requests is refused`() throws {
        let (settings, _) = try Self.read("name: x\nrate: 1000000/s")
        #expect(settings.values["rate"] == ["count": 1_000_000, "microseconds": 1_000_000])
        for count in ["1000001", "9223372036854775807"] {
            let (_, messages) = try Self.read("name: x\nrate: \(count)/s")
            #expect(messages.hasPrefix("bellhop.yaml:2:7: error: the number of a rate is at most 1000000 [too-large]"))
        }
    }

    @Test func `a hook can replace a text or refuse it`() throws {
        let (settings, messages) = try Self.read("name: $A\ncount: $B\nlist: [$A, b]\nkind: $C") { node, text, _ in
            switch text {
            case "$A": .text("replaced")
            case "$B": .text("7")
            case "$C": .refused([Diagnostic(code: "missing", "there is no C", at: Diagnostic.Place(node, file: "bellhop.yaml"))])
            default: .text(text)
            }
        }
        #expect(settings.values == ["name": "replaced", "count": 7, "list": ["replaced", "b"], "every": 60_000_000])
        #expect(messages == "bellhop.yaml:4:7: error: there is no C [missing]\n  4 | kind: $C\n    |       ^~")
    }

    @Test func `a hidden value has the same limits as a written one`() throws {
        let limited = [Setting("wait", .duration, least: "1s", most: "3m", "How long.")]
        for (value, code) in [("0s", "too-small"), ("4m", "too-large"), ("3m", nil)] {
            let root = try #require(try YAML.parse("wait: $A").first?.root)
            var reader = SettingsReader<Never>(file: "bellhop.yaml") { _, _, _ in .hidden(value, name: "`A`") }
            _ = reader.settings(root, as: limited, of: "source `x`")
            #expect(reader.diagnostics.all.map(\.code) == [code].compactMap(\.self))
            #expect(reader.diagnostics.all.allSatisfy { !$0.message.contains(value) })
        }
    }

    @Test func `a hidden text appears in no message, and ordinary words equal to it are not masked`() throws {
        let (settings, messages) = try Self.read("name: $A\ncount: $A\nkind: c") { _, text, _ in
            text == "$A" ? .hidden("number", name: "`A`") : .text(text)
        }
        #expect(settings.text("name") == "number")
        #expect(
            messages == """
                bellhop.yaml:2:8: error: the value of `A` is not a whole number from 1 to 9 [wrong-value]
                  2 | count: $A
                    |        ^~
                bellhop.yaml:3:7: error: `c` is not `a` or `b` [wrong-value]
                  3 | kind: c
                    |       ^
                """)
    }
}

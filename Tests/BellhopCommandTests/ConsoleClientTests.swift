import Testing

@testable import bellhop

@Suite struct `The token in BELLHOP_TOKEN` {
    private func token(_ text: String) throws(CommandError) -> String {
        try ConsoleClient("http://127.0.0.1:8090", environment: ["BELLHOP_TOKEN": text]).token
    }

    @Test(arguments: ["\n", "\r\n", "\r", " ", "\t\n\n"])
    func `line ends and blanks around a token are no part of it`(_ end: String) throws {
        #expect(try token("bh_0123" + end) == "bh_0123")
        #expect(try token(end + "bh_0123" + end) == "bh_0123")
    }

    @Test(arguments: ["bh_01\nX-Evil: 1", "bh_01\r\nX-Evil: 1", "bh\r01", "bh\u{0}01", "bh\u{7f}"])
    func `a token that would end its header field is refused with a sentence`(_ text: String) {
        #expect {
            try token(text)
        } throws: { error in
            let error = error as? CommandError
            return error?.code == .usage && error?.message?.contains("BELLHOP_TOKEN has a line end") == true
        }
    }

    @Test(arguments: ["", "\n", " \r\n"])
    func `an empty token is as good as none`(_ text: String) {
        #expect { try token(text) } throws: { ($0 as? CommandError)?.message?.hasPrefix("Set BELLHOP_TOKEN") == true }
    }
}

@Suite struct `Server-sent events` {
    private func read(_ text: String, _ events: inout ServerSentEvents) -> [ServerSentEvents.Message] {
        text.split(separator: "\n", omittingEmptySubsequences: false).dropLast().compactMap { events.read(String($0)) }
    }

    @Test func `each event has its type and data, and comments are none`() {
        var events = ServerSentEvents(after: "3")
        let found = read("retry: 2000\n: watching\n\nid: 4\nevent: a\ndata: {\ndata:}\n\nid: 5\ndata: x\n\n", &events)
        #expect(found == [.init(type: "a", data: "{\n}"), .init(type: "", data: "x")])
        #expect(events.lastID == "5")
    }

    @Test func `an event that was cut off is dropped, and its id with it`() {
        var events = ServerSentEvents(after: "3")
        #expect(read("id: 4\ndata: a\n\nid: 5\ndata: b\n", &events).map(\.data) == ["a"])
        #expect(events.lastID == "4")
        events.restart()
        #expect(read("id: 5\ndata: c\n\n", &events).map(\.data) == ["c"])
    }
}

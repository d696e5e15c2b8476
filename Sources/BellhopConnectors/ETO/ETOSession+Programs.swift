import BellhopCore

/// The current program of a session. The connection names it; a source or a step can name another program.
///
/// A wrong name in a source or a step affects only that source or step; a wrong name in the connection affects everything.
extension ETOSession {
    /// Makes a program the current one on the server.
    /// - Parameters:
    ///   - namedBy: the source or the step that names it; nil for the connection.
    ///   - again: whether to set it even if this session has already set it.
    func choose(_ program: ETOProgram, namedBy: String?, again: Bool = false) async throws(Failure) -> ETOAnswer {
        let id: Int64
        switch program {
        case .id(let number): id = number
        case .name:
            if let answer = try await loadPrograms() { return answer }
            guard let number = Int64(try choice(program, namedBy).key) else { preconditionFailure("a program's key is a number") }
            id = number
        }
        if login?.program == id, !again { return .ok(ETOReply(status: 200, body: [])) }
        login?.program = nil
        let answer = try await transmit(
            ETOCall(method: "POST", target: "Security.svc/UpdateCurrentProgram/", body: ["ProgramID": .string(String(id))]))
        switch answer {
        case .ok: login?.program = id
        case .doubtful, .refused:
            // Either the session has ended or the program does not exist: the list of programs shows which.
            if case .id = program, namedBy != nil, try await loadPrograms() == nil { _ = try choice(program, namedBy) }
        case .throttled, .gateway, .redirect, .page: break
        }
        return answer
    }

    func enter(_ program: ETOProgram?, namedBy: String?) async throws(Failure) {
        guard let program else { return }
        try await choose(program, namedBy: namedBy).reply(from: base.place)
    }

    /// Checks that the connection's program exists, and keeps the current one.
    func checkProgram() async throws(Failure) {
        guard let program = wanted.program else { return }
        try await loadPrograms()?.reply(from: base.place)
        let name = try choice(program, nil).name
        steps.append(Finding("program", .ok, "\(DisplayText.line(GUID.masked(name))), of \(login?.programs?.count ?? 0)"))
    }

    /// Fails if a source or a step names a program that does not exist; keeps the current one.
    func check(_ program: ETOProgram, namedBy: String) async throws(Failure) {
        try await gate.inTurn { () async throws(Failure) in
            if self.login == nil { try await self.logIn(force: false) }
            try await self.loadPrograms()?.reply(from: self.base.place)
            _ = try self.choice(program, namedBy)
        }
    }

    /// Requests the programs of the site, once per login; returns the answer if the request failed.
    private func loadPrograms() async throws(Failure) -> ETOAnswer? {
        if login?.programs != nil { return nil }
        let answer = try await transmit(.get("Form.svc/Forms/Program/GetPrograms/\(login?.site.key ?? "")"))
        guard case .ok(let reply) = answer else { return answer }
        login?.programs = try ETOChoice.programs(reply, base.place)
        return nil
    }

    private func choice(_ program: ETOProgram, _ namedBy: String?) throws(Failure) -> ETOChoice {
        let key =
            switch program {
            case .id(let number): String(number)
            case .name(let name): name
            }
        return try chain.choose(key, from: login?.programs ?? [], "program", namedBy: namedBy)
    }
}

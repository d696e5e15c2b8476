extension SimulatedInstance {
    /// Adds a user with all rights. Replaces a user of that name and keeps the sys_id.
    @discardableResult
    public func addUser(_ userName: String, password: String, name: String? = nil, email: String? = nil) -> SimulatedUser {
        change { state, _ in
            let id = state.world.user(named: userName)?.id ?? state.world.makeID()
            let user = SimulatedUser(
                id: id, userName: userName, password: password, name: name ?? userName, email: email ?? "\(userName)@example.com")
            state.world.put(user)
            return user
        }
    }

    /// Changes a user's rights or password. Nil if there is no such user.
    @discardableResult
    public func changeUser(_ userName: String, _ edit: (inout SimulatedUser) -> Void) -> SimulatedUser? {
        change { state, _ in
            guard var user = state.world.user(named: userName) else { return nil }
            edit(&user)
            state.world.put(user)
            return user
        }
    }

    /// Sets the password and unlocks the user. Open sessions remain open.
    public func setPassword(of userName: String, to password: String) {
        changeUser(userName) { $0.password = password }
        change { state, _ in state.failuresInARow[userName] = nil }
    }

    /// Sets the language of labels for one user, or for all users.
    public func setLanguage(_ language: Language, of userName: String? = nil) {
        for user in users where userName == nil || user.userName == userName {
            changeUser(user.userName) { $0.language = language }
        }
    }

    public func user(_ userName: String) -> SimulatedUser? { read { $0.world.user(named: userName) } }

    public var users: [SimulatedUser] { read { state in state.world.userOrder.compactMap { state.world.users[$0] } } }

    public var openSessions: Int { read { $0.sessions.open.count } }

    /// Ends all sessions, or those of one user: the next request with their cookies is answered 401.
    public func expireSessions(of userName: String? = nil) {
        change { state, _ in
            let user = userName.flatMap { state.world.user(named: $0)?.id }
            state.sessions.close { userName == nil || $0.user == user }
        }
    }
}
